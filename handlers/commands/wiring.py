"""Gives each command just the ports it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from handlers.access import Access
from handlers.asking import CommandSpec, Handler
from handlers.chat import Chat
from handlers.commands import (
    COMMANDS,
    access,
    help,
    history,
    model,
    new,
    retry,
    settings,
    start,
    status,
    stop,
    tier,
    usage,
    whoami,
)
from handlers.notices import Notices
from handlers.running import RunningTurns
from routing.diagnostics import Health
from routing.ports import ChatStore, Clock, HistoryStore, Llm, PeopleStore, PreferenceStore, UsageStore
from routing.router import Router


@dataclass(frozen=True, slots=True)
class Needs:
    """Everything any command needs; no command sees this."""

    preferences: PreferenceStore
    history: HistoryStore
    usage: UsageStore
    people: PeopleStore
    chats: ChatStore
    access: Access
    notices: Notices
    router: Router
    llm: Llm
    chat: Chat
    running: RunningTurns
    health: Health
    discovered: Callable[[], Collection[str]]
    clock: Clock


def build_commands(needs: Needs) -> dict[str, tuple[CommandSpec, Handler]]:
    """Every command of COMMANDS with its handler, by name."""
    n = needs
    handlers: dict[str, Handler] = {
        "tier": tier.TierCommand(n.preferences, n.router),
        "model": model.ModelCommand(n.preferences, n.router.models, n.llm, n.discovered),
        "status": status.StatusCommand(n.preferences, n.history, n.usage, n.router, n.health, n.clock),
        "new": new.NewCommand(n.history, n.running),
        "retry": retry.RetryCommand(n.history, n.chat),
        "stop": stop.StopCommand(n.running),
        "history": history.HistoryCommand(n.history, n.preferences, n.running),
        "usage": usage.UsageCommand(n.usage, n.clock),
        "settings": settings.SettingsCommand(n.preferences, n.chats),
        "whoami": whoami.whoami,
        "access": access.AccessCommand(n.access, n.people, n.chats, n.notices),
        "help": help.HelpCommand(COMMANDS),
        "start": start.start,
    }
    return {spec.name: (spec, handlers[spec.name]) for spec in COMMANDS}
