"""Everything that any command needs; each command's `build` takes its own few out of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from handlers.access import Access
from handlers.asking import CommandSpec
from handlers.chat import Chat
from handlers.notices import Notices
from handlers.running import RunningTurns
from routing.diagnostics import Health
from routing.ports import Clock, Llm
from routing.router import Router
from routing.stores import ChatStore, HistoryStore, PeopleStore, PreferenceStore, UsageStore


@dataclass(frozen=True, slots=True)
class Needs:
    """The bot's parts, by name."""

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
    discovered: Callable[[], Awaitable[Collection[str]]]
    clock: Clock
    specs: tuple[CommandSpec, ...] = ()
