"""The composition root: everything is built here, once, and ends here."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.files import Files
from bot.health import ProcessHealth
from bot.inbox import Inbox
from bot.outbox import OutboxSender
from bot.owned import OwnersFiles, keep_fresh
from bot.platform import Accept, MenuEntry, Platform
from bot.settings import Environment, Settings
from bot.silences import Silences
from bot.tooling import Tooling, build_tooling, embedder_of
from bot.workspace import Workspace
from handlers.access import Access
from handlers.chat import Chat
from handlers.commands import COMMANDS, build_commands
from handlers.commands.tier import WHY
from handlers.dispatch import Dispatcher
from handlers.edits import Edits
from handlers.languages import Say, languages
from handlers.needs import Needs
from handlers.notices import Notices
from handlers.presses import VALID_SECONDS, Presses
from handlers.ratelimit import RateLimit, parse_limits
from handlers.running import RunningTurns
from handlers.suggestions import Suggestions
from handlers.tools.needs import About, ToolNeeds
from handlers.tools.sandbox import Sandbox
from routing.caller import Caller
from routing.diagnostics import Failures
from routing.errors import ConfigError, StorageFault
from routing.llm import LiteLlm
from routing.local.runtime import LocalRuntime
from routing.local.weights import available
from routing.models.choice import LOCAL_PROVIDER, Models
from routing.models.discovery import load_discovered
from routing.ports import Clock
from routing.router import Router
from storage.database import open_database
from storage.history import SqlHistory
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.people import SqlPeople
from storage.preferences import SqlPreferences
from storage.state import SqlChats, SqlState
from storage.usage import SqlUsage
from storage.vectors import SqlVectors

GRACE_SECONDS = 10.0
LAST_SENDS_SECONDS = 1.0
"""What the replies get in any case, when the turns took the whole grace."""
SWEEP_SECONDS = 3600.0
INBOX_KEPT_SECONDS = 48 * 3600.0

log = logging.getLogger("bot.app")


@dataclass(frozen=True, slots=True)
class App:
    """What runs, for the two commands that run it."""

    accept: Accept
    state: SqlState
    chats: SqlChats
    access: Access
    inbox: Inbox
    outbox: OutboxSender
    llm: LiteLlm
    silences: Silences
    platforms: dict[str, Platform]
    clock: Clock
    people: SqlPeople
    tooling: Tooling
    suggestions: Suggestions

    async def start(self, platforms: Sequence[Platform]) -> None:
        """Connect the platforms, then go on with what an earlier run left, then load the model library."""
        self.platforms.update({platform.name: platform for platform in platforms})
        await self.access.appoint()
        refused = await self._connect(platforms)
        await self.outbox.resume()
        await self.inbox.resume()
        self.llm.load()
        await self.tooling.start()
        for reason in refused:
            await Notices(self.people, self.outbox.post).tell_owners("⚠️ {reason}", reason=reason)

    async def _connect(self, platforms: Sequence[Platform]) -> list[str]:
        """Start them all; why some can't work. Raises ConfigError when none can."""
        results = await asyncio.gather(*(platform.start() for platform in platforms), return_exceptions=True)
        failed = {at: result for at, result in enumerate(results) if isinstance(result, BaseException)}
        for at, error in failed.items():
            if not isinstance(error, ConfigError) or len(failed) == len(platforms):
                raise error
            log.error("%s", error)
            del self.platforms[platforms[at].name]  # what it has to send waits in the store
            await platforms[at].close()
        return [str(error) for error in failed.values()]

    async def stop(self) -> None:
        """Take nothing new, let running turns end, send what is ready; the rest is for the next start."""
        await asyncio.gather(*(platform.stop_receiving() for platform in self.platforms.values()))
        now = asyncio.get_running_loop().time
        ends = now() + GRACE_SECONDS
        await self.inbox.drain(GRACE_SECONDS)
        await self.outbox.drain(max(ends - now(), LAST_SENDS_SECONDS))
        await asyncio.gather(*(platform.close() for platform in self.platforms.values()))


@asynccontextmanager
async def assembled(environment: Environment, workspace: Workspace, clock: Clock = time.time) -> AsyncIterator[App]:
    """Build everything; at the end of the block it is stopped and let go of."""
    settings = environment.settings
    database = open_database(settings.database)
    preferences = SqlPreferences(database)
    people = SqlPeople(database, preferences, clock)
    history, usage = SqlHistory(database, clock), SqlUsage(database)
    state, chats = SqlState(database), SqlChats(database, clock)
    inbox_store, outbox_store = SqlInbox(database, clock), SqlOutbox(database, clock)
    platforms: dict[str, Platform] = {}
    running, failures, silences = RunningTurns(), Failures(), Silences()

    models = Models(workspace.config(), workspace.catalog())
    local = LocalRuntime(workspace.models, clock)
    llm = LiteLlm(local, models.catalog, settings.https_proxy)
    files = Files(platforms, llm, models, settings.transcription_model)
    owned = OwnersFiles(workspace)
    sandbox = Sandbox(workspace.files, workspace.sandbox_limits())
    health = ProcessHealth(database, outbox_store, running, failures, platforms, clock)
    about = About(COMMANDS, WHY, models, _shown(settings), health, lambda: tooling)
    needed = ToolNeeds(workspace.files, sandbox, history, preferences, owned.skills, clock, about)
    embedder = embedder_of(environment, llm, models, clock)
    tooling = build_tooling(environment, workspace, needed, embedder, SqlVectors(database))
    caller = Caller(llm, failures, clock)
    router = Router(models, caller, tooling.toolbox, tooling.chooser, preferences, history, files.picture, owned, clock)
    chat = Chat(router, history, files.text, files.transcribe)
    outbox = OutboxSender(outbox_store, platforms, lambda chat, why: notices.undeliverable(chat, why), clock)
    notices = Notices(people, outbox.post)
    access = Access(settings.bot_access, settings.owners, people, chats, state, clock)
    needs = Needs(
        preferences=preferences,
        history=history,
        usage=usage,
        people=people,
        chats=chats,
        access=access,
        notices=notices,
        router=router,
        llm=llm,
        chat=chat,
        running=running,
        health=health,
        stock=tooling,
        skills=owned.skills,
        forget_files=lambda person_id: asyncio.to_thread(workspace.forget_files, person_id),
        discovered=lambda: asyncio.to_thread(_offered, workspace),
        clock=clock,
    )
    limit, presses = RateLimit(parse_limits(settings.user_rate_limit)), Presses(outbox_store, clock)
    edits, ledger = Edits(history, running, chat), SqlLedger(database, clock)
    dispatcher = Dispatcher(access, limit, presses, build_commands(needs), chat, edits, notices, ledger)
    inbox = Inbox(inbox_store, chats, dispatcher, outbox, platforms, running, silences)
    tips = Suggestions(COMMANDS, models, tooling.toolbox, owned.skills, people, preferences)
    app = App(inbox.accept, state, chats, access, inbox, outbox, llm, silences, platforms, clock, people, tooling, tips)
    chores = [
        asyncio.create_task(keep_fresh(workspace, models, owned, tooling)),
        asyncio.create_task(models.learn_sizes()),
        asyncio.create_task(_sweep(inbox_store, outbox_store, clock)),
    ]
    try:
        yield app
    finally:
        await app.stop()
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
        await tooling.close()
        await local.close()
        await database.close()


def _shown(settings: Settings) -> Mapping[str, str]:
    """The variables that an owner may ask for in a chat: nothing secret, and no address."""
    shown = ("bot_access", "user_rate_limit", "embeddings", "transcription_model", "log_level")
    return {name.upper(): str(getattr(settings, name)) for name in shown}


def _offered(workspace: Workspace) -> frozenset[str]:
    """What the last discovery brought, and the local models that are there."""
    local = (f"{LOCAL_PROVIDER}/{name}" for name in available(workspace.models))
    return load_discovered(workspace.discovered_file) | frozenset(local)


async def _sweep(inbox: SqlInbox, outbox: SqlOutbox, clock: Clock) -> None:
    """Forget what no longer guards against anything."""
    while True:
        try:
            await inbox.sweep(clock() - INBOX_KEPT_SECONDS)
            await outbox.sweep(clock() - VALID_SECONDS)
        except StorageFault as fault:
            log.warning("%s", fault)
        await asyncio.sleep(SWEEP_SECONDS)


def menu() -> tuple[MenuEntry, ...]:
    """The commands with their summaries in every language."""
    speak: Mapping[str, Say] = {code: Say(code) for code in languages()}
    return tuple(MenuEntry(spec.name, {code: say(spec.summary) for code, say in speak.items()}) for spec in COMMANDS)
