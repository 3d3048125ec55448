"""The composition root: builds everything except what `bot.messaging` has, once, and owns its lifetime."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot import keyless
from bot.adapters.shared.background import Background
from bot.adapters.shared.descriptor import Commands
from bot.engine import Engine, build_engine
from bot.inbox.command_order import CommandOrder
from bot.inbox.inbox import Inbox
from bot.live_config import keep_fresh
from bot.messaging import Messaging
from bot.settings import Environment
from bot.workspace import Workspace
from handlers.access.approvals import Approvals
from handlers.access.codes import WrongCodes
from handlers.access.gate import AccessGate
from handlers.access.linking import Linking
from handlers.access.rate_limit import RateLimit, parse_limits
from handlers.access.roles import Access
from handlers.chat import Chat
from handlers.commands import COMMANDS, build_commands
from handlers.confirmations import SPEC as CONFIRM
from handlers.confirmations import Confirmations
from handlers.dependencies import CommandDependencies
from handlers.dispatch import Dispatcher
from handlers.edits import Edits
from handlers.notices.alarms import Alarms
from handlers.notices.outages import Outages
from handlers.post_turn import PostTurnHooks
from handlers.ratings import Reactions
from handlers.replies.callback_buttons import VALID_SECONDS, CallbackButtons
from handlers.replies.critic_notice import CriticNotices
from handlers.running import RunningTurns
from handlers.suggestions import Suggestions
from routing.catalog.discovery import load_discovered
from routing.critic.critic import Critic
from routing.error_boundary import ErrorBoundary
from routing.errors import StorageFault
from routing.llm.local.weights import available
from routing.ports import Clock
from routing.types.model_names import LOCAL_PROVIDER
from storage.stores import Stores

GRACE_SECONDS = 10.0
LAST_SENDS_SECONDS = 1.0
"""Minimum time to send replies if the turns used the whole grace period."""
SWEEP_SECONDS = 3600.0
DAY_SECONDS = 86_400.0
INBOX_KEPT_SECONDS = 48 * 3600.0

log = logging.getLogger("bot.app")


@dataclass(frozen=True, slots=True)
class App:
    """The running bot, for `run` and `chat`."""

    messaging: Messaging
    access: Access
    approvals: Approvals
    linking: Linking
    inbox: Inbox
    engine: Engine
    suggestions: Suggestions

    async def start(self) -> None:
        """Take messages from the platforms, resume what an earlier process left, then load the model library."""
        kept = self.messaging.kept
        unreadable = await kept.inbox.set_aside(), await kept.outbox.set_aside()
        await self.access.appoint()
        await self.linking.adopt()
        self.messaging.begin(self.inbox.accept, Commands(COMMANDS, self.suggestions))
        await self.messaging.outbox.resume()
        await self.inbox.resume()
        await self.approvals.answer_admitted()
        self.engine.llm.load()
        await self.engine.tooling.start()
        notices = self.messaging.notices
        for reason in self.messaging.refused:
            await notices.tell_owners("⚠️ {reason}", reason=reason)
        if any(unreadable):
            words = (
                "⚠️ Some entries of my database are damaged, so I set them aside (unanswered messages: {messages}, "
                "unsent replies: {replies}). Ask the people concerned to send their messages again; the log has "
                "details."
            )
            await notices.tell_owners(words, messages=unreadable[0], replies=unreadable[1])

    async def stop(self) -> None:
        """Stop receiving, let running turns end, and send finished replies. The next start continues with the rest."""
        now = asyncio.get_running_loop().time
        ends = now() + GRACE_SECONDS
        receiving = [platform.stop_receiving() for platform in self.messaging.platforms.values()]
        await asyncio.gather(self.inbox.drain(GRACE_SECONDS), *receiving)
        await self.messaging.outbox.drain(max(ends - now(), LAST_SENDS_SECONDS))


@asynccontextmanager
async def open_app(environment: Environment, workspace: Workspace, messaging: Messaging) -> AsyncIterator[App]:
    """Build the rest of the bot; on exit it is stopped and closed."""
    settings, kept, notices = environment.settings, messaging.kept, messaging.notices
    clock, steady = messaging.clock, messaging.steady
    running = RunningTurns()
    engine = await build_engine(workspace, messaging, running, lambda error: outages.note(error))
    await keyless.detect_ollama(engine.models)
    router, guard, files = engine.router, engine.guard, engine.files
    critic = Critic(engine.models, engine.caller, lambda: engine.models.config.critic, steady)
    chat = Chat(router, kept.history, kept.preferences, files.text, files.transcribe, clock, critic)
    wrong = WrongCodes(steady)
    outages = Outages(notices, kept.state, steady)
    linking = Linking(kept.links, running, workspace.adopt_files, notices, wrong, clock, guard.budget.reread)
    access = Access(settings.bot_access, settings.owners, kept.people, kept.chats, kept.state, linking, steady)
    approvals = Approvals(kept.people, notices, lambda messages: inbox.accept(messages), steady)
    dependencies = CommandDependencies(
        preferences=kept.preferences,
        allowances=kept.allowances,
        history=kept.history,
        usage=kept.usage,
        spending=kept.spending,
        turns=kept.turns,
        ratings=kept.ratings,
        guard=guard,
        people=kept.people,
        chats=kept.chats,
        access=access,
        linking=linking,
        notices=notices,
        approvals=approvals,
        router=router,
        llm=engine.llm,
        chat=chat,
        council=engine.council,
        running=running,
        health=engine.health,
        tooling=engine.tooling,
        skills=engine.owner_files.skills,
        forget_files=workspace.forget_files,
        discovered=lambda: asyncio.to_thread(_available_models, workspace),
        clock=clock,
        steady=steady,
        state=kept.state,
    )
    gate = AccessGate(access, RateLimit(parse_limits(settings.user_rate_limit)), approvals)
    buttons = CallbackButtons(kept.outbox, clock)
    edits = Edits(kept.history, kept.state, running, chat)
    alarms = Alarms(kept.turns, kept.state, notices)
    critic_notices = CriticNotices(
        critic, kept.people, kept.ledger, notices.send, lambda: engine.models.config.contracts
    )
    after = PostTurnHooks(alarms.after_turn, critic_notices.after_turn)
    confirmations = Confirmations(
        kept.actions, kept.allowances, engine.tooling.toolbox, router, kept.preferences, chat.follow_up
    )
    commands = build_commands(dependencies) | {CONFIRM.name: (CONFIRM, confirmations)}
    dispatcher = Dispatcher(gate, buttons, commands, chat, edits, kept.ledger, after)
    order = CommandOrder(
        kept.inbox, kept.people, kept.links, kept.preferences, kept.history, settings.bot_access == "open"
    )
    reactions = Reactions(kept.people, kept.turns, kept.ratings, kept.ledger)
    inbox = Inbox(kept.inbox, kept.chats, dispatcher, messaging.outbox, running, reactions, order)
    tips = Suggestions(
        COMMANDS, engine.models, engine.tooling.toolbox, engine.owner_files.skills, access, kept.preferences
    )
    app = App(messaging, access, approvals, linking, inbox, engine, tips)

    async def restart(names: str) -> None:
        await notices.tell_owners("🔁 {names} changed in .env. Restart me to use the new value.", names=names)

    chores = Background("[Chores]")
    chores.spawn(keep_fresh(workspace, engine.models, engine.owner_files, engine.tooling, restart))
    chores.spawn(engine.models.learn_sizes())
    chores.spawn(keyless.keep_detecting(engine.models))
    chores.spawn(_sweep(kept, clock, settings.retention_days))
    try:
        yield app
    finally:
        await app.stop()
        await after.close()
        await chores.close(0)
        await engine.close()


def _available_models(workspace: Workspace) -> frozenset[str]:
    """Models found by the last discovery, and local models."""
    local = (f"{LOCAL_PROVIDER}/{name}" for name in available(workspace.models))
    return load_discovered(workspace.discovered_file) | frozenset(local)


async def _sweep(kept: Stores, clock: Clock, retention_days: int | None) -> None:
    """Delete old inbox, outbox and action records every hour, and what is older than `retention_days`.

    A step that fails is logged and tried again an hour later; the other steps still run."""

    async def prune() -> None:
        if retention_days and (deleted := await kept.retention.prune(clock() - retention_days * DAY_SECONDS, clock())):
            log.info("Deleted %d rows older than %d days", deleted, retention_days)

    steps: dict[str, Callable[[], Awaitable[None]]] = {
        "inbox": lambda: kept.inbox.sweep(clock() - INBOX_KEPT_SECONDS),
        "outbox": lambda: kept.outbox.sweep(clock() - VALID_SECONDS),
        "actions": lambda: kept.actions.sweep(clock() - VALID_SECONDS),
        "retention": prune,
    }
    while True:
        for name, step in steps.items():
            with ErrorBoundary(log, "Old records could not be deleted (%s)", name):
                try:
                    await step()
                except StorageFault as fault:
                    log.warning("%s", fault)
        await asyncio.sleep(SWEEP_SECONDS)
