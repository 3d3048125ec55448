"""Says the same lines to bots in the same state, one per platform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from prompt_toolkit.application import Application, create_app_session, get_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from bot.adapters.console import ConsolePlatform, ConsoleUser, PromptOptions, Streams
from bot.app import App
from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.terminal import chat
from routing.ports import Clock
from routing.tools.fallback_reasons import OFF
from routing.types.messages import OutboundMessage, UserKey
from routing.types.people import Role
from storage.codec import OUTBOUND
from storage.database.migrate import migrate
from tests.keyboard import CTRL_D, Tty
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.stories.chat_clients import (
    NAME,
    OTHERS_NAME,
    ChatClient,
    DiscordClient,
    Press,
    Room,
    Shown,
    TelegramClient,
    TerminalClient,
)
from tests.stories.databases import Ask
from tests.stories.harness import BotHarness, bot_harness, running
from tests.stories.toolkits import indexed

TIMEOUT_SECONDS = 60.0
"""Seconds within which a line must be answered."""
WIDE = Size(rows=24, columns=500)
"""A terminal wide enough that none of our lines wraps."""
_SETTLED = (
    "select (select count(*) from inbox where state = 'done') = ? "
    "and not exists (select 1 from outbox where state in ('pending', 'attempting'))"
)
_REPLIES = "select id, state, payload from outbox where id > ? order by id"


def _configure(on: BotHarness, room: Room = "private", **more: str) -> None:
    """The common configuration: in private everyone is admitted with a given role; groups are closed. Embeddings are
    off, because the moment they are ready varies."""
    access = "open" if room == "private" else "pairing"
    on.env |= {"BOT_OWNERS": "", "BOT_ACCESS": access, "EMBEDDINGS": "off", **more}
    skill = on.workspace / "skills" / "code-review" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: Reviews code.\nmodel_tier: coding\n---\nLook at it.", "utf-8")


@asynccontextmanager
async def telegram(
    folder: Path, clock: Clock, language: str, room: Room = "private"
) -> AsyncIterator[tuple[BotHarness, App, ChatClient]]:
    async with bot_harness(folder) as on:
        _configure(on, room)
        on.menus = True
        async with running(on, clock) as app:
            yield on, app, TelegramClient(on.tg, language or "en", room)


@asynccontextmanager
async def discord(
    folder: Path, clock: Clock, language: str, room: Room = "private"
) -> AsyncIterator[tuple[BotHarness, App, DiscordClient]]:
    async with bot_harness(folder) as on, DiscordServer(clock=clock) as dc:
        dc.guild()
        _configure(on, room, TELEGRAM_BOT_TOKEN="", DISCORD_BOT_TOKEN=dc.token)
        on.env |= {"DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
        async with running(on, clock) as app:
            await dc.ready()
            await dc.wait_for(lambda _: dc.commands)
            yield on, app, DiscordClient(dc, language or "en-US", room)
        assert dc.violations == []


@asynccontextmanager
async def terminal(
    folder: Path, clock: Clock, language: str, room: Room = "private"
) -> AsyncIterator[tuple[BotHarness, App, ChatClient]]:
    """A terminal has no client language, so its user sets one. It has no groups."""
    assert room == "private"
    async with bot_harness(folder) as on:
        _configure(on, TELEGRAM_BOT_TOKEN="")
        with screen() as (keys, shown):
            async with running(on, clock) as app:
                platform = _prompt(on, app)
                app.messaging.platforms[platform.name] = platform
                await platform.start()
                talk = asyncio.create_task(platform.run())
                try:
                    yield on, app, TerminalClient(keys, shown)
                finally:
                    await platform.stop_receiving()
                    await talk


@contextmanager
def screen() -> Iterator[tuple[PipeInput, StringIO]]:
    """A terminal: typed keys, and everything written to it."""
    shown = StringIO()
    output = Vt100_Output(shown, lambda: WIDE, term="xterm")
    with create_pipe_input() as keys, create_app_session(input=keys, output=output):
        yield keys, shown


def _prompt(on: BotHarness, app: App) -> ConsolePlatform:
    return ConsolePlatform(
        ConsoleUser(NAME, app.messaging.clock),
        app.inbox.accept,
        Streams(Tty(), Tty(), Tty()),
        PromptOptions(on.workspace / "console-history"),
    )


PLATFORMS = {"telegram": telegram, "discord": discord, "terminal": terminal}


@dataclass(frozen=True, slots=True)
class Answer:
    """The replies to one line or press, as stored in the outbox and as shown."""

    line: str | Press
    replies: tuple[OutboundMessage, ...]
    shown: Shown


@dataclass(frozen=True, slots=True)
class Talk:
    """The lines said on one platform, and the replies."""

    user: UserKey
    answers: list[Answer]
    typed: list[str]


@asynccontextmanager
async def chatting(folder: Path) -> AsyncIterator[Application[Any]]:
    """Runs `tierbot chat` on a screen until its end. Stdin and stdout of the process must be terminals."""
    async with bot_harness(folder) as on:
        _configure(on, TELEGRAM_BOT_TOKEN="")
        on.write_config()
        environment = load(on.environment())
        workspace = Workspace(environment)
        with workspace.held():
            await asyncio.to_thread(migrate, environment.settings.database, workspace.backups)
            with screen() as (keys, shown):
                talk = asyncio.create_task(chat(environment, workspace, NAME))
                await until(lambda: "›" in shown.getvalue())
                prompt = get_app_session().app
                assert prompt is not None
                yield prompt
                keys.send_text(CTRL_D)
                assert await talk == 0


async def held(
    platform: str,
    folder: Path,
    lines: Sequence[str | Press],
    role: Role,
    language: str,
    now: float,
    room: Room = "private",
) -> Talk:
    """Says the lines one by one to a new bot, each answered before the next. The clock stands still, so that answers do
    not depend on speed. The other person is a user."""
    async with PLATFORMS[platform](folder / platform, lambda: now, language, room) as (on, app, place):
        await app.messaging.stores.people.admit(place.user, NAME, role, "story")
        if room == "public":
            await app.messaging.stores.people.admit(place.other, OTHERS_NAME, "user", "story")
        await app.engine.llm.load()
        await indexed(app, OFF)
        answers: list[Answer] = []
        last = 0
        with on.data.open() as ask:
            for count, line in enumerate(lines, 1):
                if isinstance(line, Press):
                    await place.press(line)
                else:
                    place.say(line)
                await _settled(ask, count)
                rows = ask(_REPLIES, last)
                assert all(state == "sent" for _, state, _ in rows), (line, rows)
                last = max([last, *(number for number, _, _ in rows)])
                answers.append(Answer(line, tuple(OUTBOUND.load(payload) for *_, payload in rows), place.look()))
        return Talk(place.user, answers, place.typed)


async def _settled(ask: Ask, lines: int) -> None:
    """Waits until this many lines are processed and every reply is sent."""
    await until(lambda: ask(_SETTLED, lines) == [(1,)], TIMEOUT_SECONDS)
