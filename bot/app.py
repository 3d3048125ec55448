"""The composition root: builds everything except what `bot.messaging` has, once, and owns its lifetime."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot import keyless
from bot.adapters.shared.background import Background
from bot.adapters.shared.descriptor import Commands
from bot.config.environment import Environment
from bot.config.workspace import Workspace
from bot.engine import Engine, build_engine
from bot.inbox.command_order import CommandOrder
from bot.inbox.inbox import Inbox
from bot.live_config import LiveConfig
from bot.messaging import Messaging
from bot.ops.backup.schedule import ScheduledBackups
from bot.ops.daily_check import DailyCheck, examine_locally
from bot.scheduler import Scheduler
from handlers.access.approvals import Approvals
from handlers.access.codes import WrongCodes
from handlers.access.gate import AccessGate
from handlers.access.linking import Linking
from handlers.access.rate_limit import RateLimit, parse_limits
from handlers.access.roles import Access
from handlers.access.sign_in_links import SignInLinks
from handlers.chat import Chat
from handlers.commands import COMMANDS, build_commands
from handlers.confirmations import SPEC as CONFIRM
from handlers.confirmations import Confirmations
from handlers.dependencies import CommandDependencies
from handlers.dispatch import Dispatcher, TextHandlers
from handlers.edits import Edits
from handlers.incoming import IncomingFiles
from handlers.learning import Learner
from handlers.notices.alarms import Alarms
from handlers.notices.critic_notice import CriticNotices
from handlers.notices.outages import Outages
from handlers.notices.spoken_answers import SpokenAnswers
from handlers.personal_data import PersonalData
from handlers.post_turn import PostTurnHooks
from handlers.question_text import QuestionTexts
from handlers.ratings import Reactions
from handlers.replies.callback_buttons import VALID_SECONDS, CallbackButtons
from handlers.running import RunningTurns
from handlers.suggestions import Suggestions
from handlers.tools.files.person_files import PersonFiles
from routing.catalog.discovery import load_discovered
from routing.critic.critic import Critic
from routing.error_boundary import ErrorBoundary
from routing.errors import StorageFault
from routing.llm.local.weights import available
from routing.ports import Clock
from routing.types.model_names import LOCAL_PROVIDER
from storage.stores import Stores

if TYPE_CHECKING:
    from bot.cluster import Cluster

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
    scheduler: Scheduler
    live: LiveConfig
    sign_in_links: SignInLinks
    running: RunningTurns
    cluster: Cluster | None

    async def start(self) -> None:
        """Take messages from the platforms, resume what an earlier process left, then load the model library."""
        stores = self.messaging.stores
        unreadable = await stores.inbox.set_aside(), await stores.outbox.set_aside()
        await self.access.appoint()
        await self.linking.adopt()
        await self.engine.accounts.connecting.load()
        if self.cluster is None:
            await self.messaging.outbox.resume()
        self.messaging.begin(self.inbox.accept, Commands(COMMANDS, self.suggestions))
        if self.cluster is None:
            await self.inbox.resume()
        else:
            await self.cluster.start()
        await self.approvals.answer_admitted()
        self.scheduler.start()
        self.engine.llm.load()
        await self.engine.start()
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
        self.messaging.refuse()
        await self.scheduler.close()
        if self.cluster is not None:
            await self.cluster.stop_claiming()
        now = asyncio.get_running_loop().time
        ends = now() + GRACE_SECONDS
        receiving = [platform.stop_receiving() for platform in self.messaging.platforms.values()]
        await asyncio.gather(self.inbox.drain(GRACE_SECONDS), *receiving)
        await self.messaging.outbox.drain(max(ends - now(), LAST_SENDS_SECONDS))
        if self.cluster is not None:
            await self.cluster.leave()


@asynccontextmanager
async def open_app(environment: Environment, workspace: Workspace, messaging: Messaging) -> AsyncIterator[App]:
    """Build the rest of the bot; on exit it is stopped and closed."""
    settings, stores, notices = environment.settings, messaging.stores, messaging.notices
    clock, steady = messaging.clock, messaging.steady
    running = RunningTurns()
    engine = await build_engine(workspace, messaging, running, lambda error: outages.note(error))
    await keyless.detect_ollama(engine.models, keyless.FIRST_TIMEOUT_SECONDS)
    router, guard, files = engine.router, engine.guard, engine.files
    critic = Critic(engine.models, engine.caller, lambda: engine.models.config.critic, steady)
    limits = engine.models.config.sandbox
    folders = PersonFiles(workspace.files, limits.disk_bytes, limits.files)
    incoming = IncomingFiles(files.content, folders)
    texts = QuestionTexts(stores.history, stores.preferences, incoming, files.transcribe)
    chat = Chat(router, stores.history, stores.preferences, texts, clock, critic)
    wrong = WrongCodes(steady)
    outages = Outages(notices, stores.state, steady)
    linking = Linking(stores.links, running, workspace.adopt_files, notices, wrong, clock, guard.budget.reread)
    access = Access(settings.bot_access, settings.owners, stores.people, stores.chats, stores.state, linking, steady)
    approvals = Approvals(stores.people, notices, lambda messages: inbox.accept(messages), steady)
    personal_data = PersonalData(
        stores.personal_data, stores.preferences, stores.people, linking, folders, workspace.forget_files
    )
    tooling = engine.tooling
    learner = Learner(engine.learning, stores.history, tooling.toolbox, tooling.selector, clock)
    links = SignInLinks(settings.admin_root, steady)
    dependencies = CommandDependencies(
        preferences=stores.preferences,
        facts=stores.facts,
        allowances=stores.allowances,
        history=stores.history,
        usage=stores.usage,
        spending=stores.spending,
        turns=stores.turns,
        ratings=stores.ratings,
        guard=guard,
        people=stores.people,
        chats=stores.chats,
        access=access,
        linking=linking,
        notices=notices,
        approvals=approvals,
        router=router,
        llm=engine.llm,
        media=engine.media,
        speaker=engine.speaker,
        chat=chat,
        texts=texts,
        council=engine.council,
        running=running,
        health=engine.health,
        tooling=engine.tooling,
        skills=engine.owner_files.skills,
        files=folders,
        personal_data=personal_data,
        discovered=lambda: asyncio.to_thread(_available_models, workspace),
        clock=clock,
        steady=steady,
        state=stores.state,
        accounts=stores.accounts,
        connecting=engine.accounts.connecting,
        learner=learner,
        schedules=engine.schedules,
        sign_in_link=links.new,
    )
    gate = AccessGate(access, RateLimit(parse_limits(settings.user_rate_limit)), approvals)
    buttons = CallbackButtons(stores.outbox)
    edits = Edits(stores.history, stores.state, running, texts)
    alarms = Alarms(stores.turns, stores.state, notices)
    critic_notices = CriticNotices(
        critic, stores.people, stores.ledger, notices.send, lambda: engine.models.config.contracts
    )
    spoken = SpokenAnswers(engine.speaker, stores.preferences, stores.people, stores.ledger, notices.send)
    after = PostTurnHooks(
        alarms.after_turn,
        critic_notices.after_turn,
        spoken.after_turn,
        learner.after_turn,
        lambda message, record: scheduler.after_turn(message, record),
    )
    confirmations = Confirmations(
        stores.actions, stores.allowances, engine.tooling.toolbox, router, stores.preferences, chat.follow_up
    )
    commands = build_commands(dependencies) | {CONFIRM.name: (CONFIRM, confirmations)}
    text_handlers = TextHandlers(chat, edits, engine.accounts.connecting)
    dispatcher = Dispatcher(gate, buttons, commands, text_handlers, stores.ledger, after)
    order = CommandOrder(
        stores.inbox, stores.people, stores.links, stores.preferences, stores.history, settings.bot_access == "open"
    )
    reactions = Reactions(stores.people, stores.turns, stores.ratings, stores.ledger, learner)
    inbox = Inbox(stores.inbox, stores.chats, dispatcher, messaging.outbox, running, reactions, order)
    changed = engine.schedules.changed
    stores.database.on_outside_change(changed.set, ("schedules",))
    scheduler = Scheduler(stores.schedules, stores.people, stores.links, messaging.outbox, inbox, changed, clock)
    tips = Suggestions(
        COMMANDS, engine.models, engine.tooling.toolbox, engine.owner_files.skills, access, stores.preferences
    )
    backups = ScheduledBackups(workspace, stores.people, stores.state, notices, messaging.platforms, clock)
    live = LiveConfig(workspace, engine.models, engine.owner_files, engine.tooling, engine.health, messaging.tell)
    cluster = _cluster(workspace, messaging, inbox, guard.budget.forget)
    app = App(messaging, access, approvals, linking, inbox, engine, tips, scheduler, live, links, running, cluster)

    chores = Background("[Chores]")
    chores.spawn(live.keep_fresh())
    chores.spawn(engine.accounts.reseal())
    chores.spawn(engine.models.learn_sizes())
    chores.spawn(keyless.keep_detecting(engine.models))
    chores.spawn(backups.run())
    chores.spawn(_sweep(stores, clock, settings.retention_days))
    chores.spawn(
        DailyCheck(
            lambda: examine_locally(environment, workspace, messaging.platforms, clock),
            stores.state,
            messaging.tell,
            clock,
        ).run()
    )
    try:
        yield app
    finally:
        await app.stop()
        await after.close()
        await chores.close(0)
        await engine.close()


def _cluster(
    workspace: Workspace, messaging: Messaging, inbox: Inbox, others_live: Callable[[], object]
) -> Cluster | None:
    """None if no other process can use the database."""
    if messaging.claims is None or messaging.lease is None:
        return None
    from bot.cluster import Cluster

    name = f"{socket.gethostname()} {workspace.lock_file}"
    return Cluster(
        name, messaging.claims, inbox, messaging.outbox, messaging.lease, messaging.stores.history, others_live
    )


def _available_models(workspace: Workspace) -> frozenset[str]:
    """Models found by the last discovery, and local models."""
    local = (f"{LOCAL_PROVIDER}/{name}" for name in available(workspace.models))
    return load_discovered(workspace.discovered_file) | frozenset(local)


async def _sweep(stores: Stores, clock: Clock, retention_days: int | None) -> None:
    """Delete old inbox, outbox, action and /connect records every hour, and what is older than `retention_days`.

    A step that fails is logged and tried again an hour later; the other steps still run."""

    async def prune() -> None:
        if retention_days and (
            deleted := await stores.retention.prune(clock() - retention_days * DAY_SECONDS, clock())
        ):
            log.info("Deleted %d rows older than %d days", deleted, retention_days)

    async def pressable() -> float:
        """Buttons of replies since then may be needed. One that was pressed before the bot stopped still counts."""
        oldest = await stores.inbox.oldest_unfinished()
        return min(clock(), clock() if oldest is None else oldest) - VALID_SECONDS

    async def sweep_outbox() -> None:
        await stores.outbox.sweep(await pressable())

    async def sweep_actions() -> None:
        await stores.actions.sweep(await pressable())

    steps: dict[str, Callable[[], Awaitable[None]]] = {
        "inbox": lambda: stores.inbox.sweep(clock() - INBOX_KEPT_SECONDS),
        "outbox": sweep_outbox,
        "actions": sweep_actions,
        "connect steps": lambda: stores.accounts.sweep(clock() - VALID_SECONDS),
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
