"""The whole bot between loopback servers: in this process, or in a separate one if it has to be killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster

from bot.adapters.shared.registration import register_if_changed
from bot.adapters.telegram.settings import Pace
from bot.app import App
from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.running import started
from routing.catalog.catalog import BUNDLED
from routing.ports import Clock, StateStore
from storage.database import Database
from storage.database.migrate import migrate
from tests.polling import until
from tests.servers.model import ModelServer
from tests.servers.telegram import Message, TelegramServer, User
from tests.shared_files import share_indexes, share_statements
from tests.stories import preloaded
from tests.stories.databases import STORY, Rows, ServerDatabase, SqliteFile, StoryDatabase, story_database, unwatched

ROOT = Path(__file__).resolve().parents[2]
OWNER = 1001
"""The id of the Telegram server's first user, Alice."""


@dataclass(slots=True)
class BotHarness:
    """The servers and the bot's configuration. `env` and `config` may be changed before the start."""

    tg: TelegramServer
    ms: ModelServer
    workspace: Path
    data: StoryDatabase
    env: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    killed: bool = False
    """Whether a bot was killed: the next one may repeat an edit."""
    menus: bool = False
    """Whether commands are registered with Telegram, as at a first start."""
    unheard: int | None = None
    """Changes of the database that a bot of this process has not noticed; None if only its next write notices."""

    def environment(self) -> dict[str, str]:
        """The bot's complete environment, without this machine's variables."""
        defaults = {
            "WORKSPACE": str(self.workspace),
            "DATABASE_URL": self.data.url,
            "TELEGRAM_BOT_TOKEN": self.tg.token,
            "TELEGRAM_API_ROOT": self.tg.root,
            "TELEGRAM_FLOOD_LIMIT": "off",
            "OPENAI_API_KEY": "sk-test-openai-000000000000",
            "BOT_OWNERS": f"telegram:{OWNER}",
            "USER_RATE_LIMIT": "off",
            "EMBEDDINGS": "off",
            "OLLAMA_HOST": "127.0.0.1:9",
            "ADMIN_ADDRESS": "off",
        }
        return {name: value for name, value in (defaults | self.env).items() if value}

    def write_config(self) -> None:
        """Writes runtime-config.json with OpenAI at the loopback server."""
        openai = {"apiType": "openai", "baseUrl": self.ms.openai_base}
        document = {"llm": {"providers": {"openai": openai}}} | self.config
        path = self.workspace / "preferences" / "runtime-config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")

    def knows(self, **models: Mapping[str, object]) -> None:
        """Writes the workspace's catalogue: the bundled one plus these cards."""
        document = json.loads(BUNDLED.read_text(encoding="utf-8"))
        document["models"] |= models
        path = self.workspace / "models" / "models.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")

    def move(self, workspace: Path) -> None:
        """Uses this folder as the workspace, before the start."""
        self.workspace = workspace
        if isinstance(self.data, SqliteFile):
            self.data = SqliteFile(workspace / self.data.path.name)

    @property
    def database(self) -> Path:
        """The bot's SQLite file."""
        assert isinstance(self.data, SqliteFile), "mark this story with sqlite_only"
        return self.data.path

    def use(self, driver: str) -> None:
        """One of `DRIVERS`."""
        if driver.startswith("sqlite"):
            self.env["DATABASE_URL"] = f"{driver}:///{self.database}"

    def rows(self, question: str, *values: object) -> Rows:
        """Queries the database through a separate connection."""
        with unwatched(), self.data.open() as ask:
            return ask(question, *values)

    def change(self, statement: str, *values: object) -> None:
        """Changes the database through a separate connection. See `noticed`."""
        self.data.change(statement, *values)
        if self.unheard is not None:
            self.unheard += 1

    def hear(self, database: Database) -> None:
        """Notes which changes a bot of this process has heard of."""
        if isinstance(self.data, ServerDatabase):
            self.unheard = 0
            database.on_outside_change(self._heard, (STORY,))

    def _heard(self) -> None:
        self.unheard = max(0, (self.unheard or 0) - 1)

    async def noticed(self) -> None:
        """Waits until the bot knows of all changes."""
        await until(lambda: not self.unheard)


@asynccontextmanager
async def bot_harness(workspace: Path) -> AsyncIterator[BotHarness]:
    """Starts both servers. At the end, every request they saw must have been valid.

    Each story gets new ones, which takes 0.5 ms of CPU; their schemas are read once per process."""
    async with TelegramServer() as tg, ModelServer() as ms:
        with closing(story_database(workspace)) as data:
            on = BotHarness(tg, ms, workspace, data)
            yield on
        assert not [each for each in tg.violations if not (on.killed and "message is not modified" in each.description)]
        assert [problem for call in ms.calls for problem in call.violations] == []


@asynccontextmanager
async def running(on: BotHarness, clock: Clock = time.time, steady: Clock | None = None) -> AsyncIterator[App]:
    """Runs the bot in this process from start to shutdown. `clock` is the wall clock, which stories can set; `steady`
    is the monotonic one, by default the same."""
    with _patched():
        on.write_config()
        environment = load(on.environment())
        workspace = Workspace(environment)
        with workspace.held():
            await asyncio.to_thread(_migrate, on, environment.settings.database, workspace.backups)
            _telling.set(on.menus)
            async with started(environment, workspace, clock, steady or clock) as app:
                on.hear(app.messaging.stores.database)
                with _nothing_blocks():
                    yield app
                on.unheard = None


def _migrate(on: BotHarness, url: str, backups: Path) -> None:
    """Migrates once, then copies the result."""
    if on.data.url or on.database.exists() or not url.endswith(f":///{on.database}"):
        migrate(url, backups)
    elif _new:
        on.database.write_bytes(_new[0])
    else:
        migrate(url, backups)
        _new.append(on.database.read_bytes())


_new: list[bytes] = []


@contextmanager
def _patched() -> Iterator[None]:
    """Patches for all bots of this process, which may end in any order."""
    if not _bots:
        share_indexes(_patch)
        share_statements(_patch)
        _patch.setattr("bot.adapters.telegram.platform.register_if_changed", _register)
    _bots.append(1)
    _guard_bots()
    try:
        yield
    finally:
        _bots.pop()
        _guard_bots()
        if not _bots:
            _patch.undo()


async def _register(state: StateStore, key: str, menus: object, register: Callable[[], Awaitable[object]]) -> bool:
    return _telling.get() and await register_if_changed(state, key, menus, register)


_bots: list[int] = []
_patch = pytest.MonkeyPatch()
_telling: ContextVar[bool] = ContextVar("telling", default=True)
"""Whether this bot registers its commands with Telegram."""


@contextmanager
def _nothing_blocks() -> Iterator[None]:
    """Raises BlockingError if our code blocks the event loop, unless another bot of this process starts or ends."""
    _at_work.append(1)
    _guard_bots()
    try:
        yield
    finally:
        _at_work.pop()
        _guard_bots()


def _guard_bots() -> None:
    """Turns the guard on or off: starting and ending may block."""
    guard = _guard()
    guard.deactivate()
    if _at_work and len(_at_work) == len(_bots):
        for function in guard.functions.values():
            function.original_func = getattr(function.module, function.func_name, None)
        guard.activate()


@cache
def _guard() -> BlockBuster:
    guard = BlockBuster(["bot", "handlers", "routing", "storage"])
    for function in guard.functions.values():
        for file, name in LIBRARIES:
            function.can_block_in(file, name)
    return guard


LIBRARIES = (
    ("litellm/utils.py", "wrapper_async"),  # LiteLLM looks for certificates and callbacks when it creates a client
    ("litellm/__init__.py", "__getattr__"),  # LiteLLM imports its parts on first use
    ("litellm/utils.py", "get_bundled_model_cost_map"),  # LiteLLM reads its map once more on first use
    ("logging/__init__.py", "emit"),  # log lines are written where they are made
    ("telegram/_utils/files.py", "is_local_file"),  # python-telegram-bot asks whether a file's address is a path
    ("prompt_toolkit/history.py", "store_string"),  # prompt_toolkit writes the history of the terminal
    ("asyncpg/connect_utils.py", "_parse_connect_dsn_and_args"),  # asyncpg looks for a file with passwords
    ("storage/database/snapshot.py", "_copy_tables"),  # a backup has a thread with an event loop of its own
    ("bot/ops/doctor.py", "report"),  # the admin page runs the doctor in a thread with an event loop of its own
    ("prompt_toolkit/patch_stdout.py", "close"),  # prompt_toolkit joins its thread when the terminal closes
)
"""Functions of libraries that block and can't be moved into a thread."""

_at_work: list[int] = []
"""One entry for each bot that has started and is not ending."""


def tool_results(on: BotHarness) -> list[str]:
    """The tool results in the newest model request."""
    return [result.text for result in on.ms.last.reading.tool_results]


def previewing_early(patch: pytest.MonkeyPatch) -> None:
    """Previews begin almost at once."""
    pace = Pace(preview_after=0.05, private_gap=0.05)
    patch.setattr("bot.adapters.telegram.descriptor.Pace", lambda: pace)


NOTICES = ("🔑", "💳", "❓", "🔔")
"""Prefixes of notices to owners."""


async def ask(on: BotHarness, text: str, *, user: User | str | None = None, group: str | None = None) -> Message:
    """Sends a message and returns the reply. Notices to owners are skipped."""
    await on.noticed()
    question = on.tg.say(text, user=user, group=group)
    return await on.tg.reply(question, after=question, matching=lambda message: not message.text.startswith(NOTICES))


async def settled(on: BotHarness) -> None:
    """Waits until every Telegram update is acknowledged, every message processed, and no reply left to send. Polls,
    because a database sends no signals."""
    unfinished = "SELECT id FROM inbox WHERE state != 'done' UNION ALL "
    unfinished += "SELECT id FROM outbox WHERE state IN ('pending', 'attempting')"
    await until(lambda: not (on.tg.updates.pending or on.rows(unfinished)))


def waiting_files(on: BotHarness) -> list[str]:
    """The names of the files that wait to be sent."""
    folder = on.workspace / "outgoing"
    return [path.name for path in folder.iterdir()] if folder.exists() else []


async def press(on: BotHarness, button: str, message: Message) -> Message:
    """The owner presses one of the message's buttons; returns the redrawn message."""
    drawn = len(message.versions)
    on.tg.press(button, message=message)
    await on.tg.wait_for(lambda _: len(message.versions) > drawn)
    return message


_numbers = count(1)


class BotProcess:
    """The bot as a separate process, forked with its libraries loaded. Its output is kept."""

    def __init__(
        self,
        on: BotHarness,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        config: bool = True,
        constants: Mapping[str, object] | None = None,
    ) -> None:
        """`config`: write runtime-config.json first; `constants`: see `preloaded.run`."""
        self._on = on
        self._config = config
        self._arguments = arguments or ("run",)
        self._env = env or {}
        self._constants = constants or {}
        self._process: ForkServerProcess | None = None
        self._log = ""
        self._output = Path(tempfile.gettempdir()) / f"tierbot-{os.getpid()}-{next(_numbers)}.log"

    @property
    def log(self) -> str:
        """The output so far."""
        if self._output.exists():
            self._log = self._output.read_bytes().decode(errors="replace")
        return self._log

    async def __aenter__(self) -> BotProcess:
        if self._config:
            self._on.write_config()
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment = kept | self._on.environment() | dict(self._env)
        os.umask(mask := os.umask(0))
        streams = (Path(os.devnull), self._output, self._output)
        given = (self._arguments, environment, mask, streams, self._constants)
        self._process = preloaded.forking.Process(target=preloaded.run, args=given)
        await asyncio.to_thread(self._process.start)
        return self

    async def __aexit__(self, failed: type[BaseException] | None, *_exception: object) -> None:
        if self._process is not None and self._process.exitcode is None:
            await self.kill()
        assert self.log is self._log  # read once more
        if failed:
            print(self._log)
        self._output.unlink(missing_ok=True)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal."""
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    async def ended(self, seconds: float = 60.0) -> int:
        """Waits for the exit code."""
        assert self._process is not None
        process = self._process
        await until(lambda: process.exitcode is not None, seconds)
        assert process.exitcode is not None
        return process.exitcode

    async def kill(self) -> None:
        """Sends SIGKILL."""
        self._on.killed = True
        self.signal(signal.SIGKILL)
        await self.ended()

    async def terminate(self) -> int:
        """Sends SIGTERM; returns the exit code."""
        self.signal(signal.SIGTERM)
        return await self.ended()
