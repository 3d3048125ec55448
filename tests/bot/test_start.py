"""The platforms connect before the rest of the bot is imported and built."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot import running
from bot.app import App
from bot.config.environment import Environment, load
from bot.config.workspace import Workspace
from handlers.access.roles import Access
from routing.errors import ConfigError, StorageFault
from storage.database.migrate import migrate
from tests.servers.discord import DiscordServer
from tests.stories import harness
from tests.stories.harness import BotHarness, bot_harness


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with bot_harness(tmp_path / "workspace") as on:
        on.env["EMBEDDINGS"] = "off"
        yield on


class SlowImport:
    """The import of the rest of the bot, which ends when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._end = threading.Event()
        self._import_app = running._import_app
        monkeypatch.setattr(running, "_import_app", self._slowly)

    def _slowly(self) -> Any:
        self._end.wait()
        return self._import_app()

    def end(self) -> None:
        self._end.set()


@pytest.fixture
def importing(monkeypatch: pytest.MonkeyPatch) -> SlowImport:
    return SlowImport(monkeypatch)


async def serve(on: BotHarness, ended: asyncio.Event) -> None:
    async with harness.running(on):
        await ended.wait()


async def test_messages_wait_unconfirmed_for_the_rest_of_the_bot(on: BotHarness, importing: SlowImport) -> None:
    ended = asyncio.Event()
    message = on.tg.say("hello")
    serving = asyncio.create_task(serve(on, ended))
    try:
        await on.tg.wait_for(lambda tg: [each for each in tg.requests if each.method == "getUpdates"])
        assert on.rows("SELECT count(*) FROM inbox") == [(0,)]
        assert len(on.tg.updates.pending) == 1
    finally:
        importing.end()
    assert "hello" in (await on.tg.reply(message, after=message)).text
    ended.set()
    await serving
    assert not on.tg.updates.pending


async def test_a_slash_command_waits_for_the_rest_of_the_bot(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    async with DiscordServer() as dc:
        on.env |= {"DISCORD_BOT_TOKEN": dc.token, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
        on.env |= {"TELEGRAM_BOT_TOKEN": "", "BOT_OWNERS": "discord:1001"}
        async with harness.running(on):
            await dc.wait_for(lambda _: dc.commands)
        importing, ended = SlowImport(monkeypatch), asyncio.Event()
        serving = asyncio.create_task(serve(on, ended))
        try:
            await dc.ready()
            asked, there = dc.slash("whoami"), dc.slash("whoami", where="general")
            await dc.wait_for(lambda _: asked.answers and there.answers)  # "… is thinking"
            assert on.rows("SELECT count(*) FROM inbox") == [(0,)]
        finally:
            importing.end()
        await dc.wait_for(lambda _: any("discord" in answer.text for answer in asked.answers))
        ended.set()
        await serving
        assert dc.violations == []


async def test_a_bot_that_cannot_be_built_confirms_nothing(on: BotHarness) -> None:
    message = on.tg.say("hello")
    on.workspace.mkdir()
    (on.workspace / "SYSTEM.md").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"SYSTEM\.md can't be read"):
        async with harness.running(on):
            raise AssertionError("nothing serves")
    assert len(on.tg.updates.pending) == 1
    (on.workspace / "SYSTEM.md").unlink()
    async with harness.running(on):
        assert "hello" in (await on.tg.reply(message, after=message)).text


async def test_owners_in_the_environment_are_notified_of_a_missing_intent_at_the_first_start(on: BotHarness) -> None:
    async with DiscordServer() as dc:
        on.env |= {"DISCORD_BOT_TOKEN": dc.token, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
        on.env |= {"TELEGRAM_BOT_TOKEN": "", "BOT_OWNERS": "discord:1001"}
        dc.grant()
        async with harness.running(on):
            await dc.reply(matching="Message Content Intent")


async def test_a_start_that_fails_before_it_accepts_confirms_nothing(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_access: Access) -> None:
        await on.tg.wait_for(lambda tg: tg.calls("getUpdates"))
        raise StorageFault("the disk is full")

    message = on.tg.say("hello")
    with monkeypatch.context() as patch:
        patch.setattr(Access, "appoint", fail)
        with pytest.raises(StorageFault, match="the disk is full"):
            async with harness.running(on):
                raise AssertionError("nothing serves")
    assert len(on.tg.updates.pending) == 1
    async with harness.running(on):
        assert "hello" in (await on.tg.reply(message, after=message)).text


@asynccontextmanager
async def prepared(on: BotHarness) -> AsyncIterator[tuple[Environment, Workspace]]:
    """The environment and the workspace, locked and migrated."""
    on.write_config()
    environment = load(on.environment())
    workspace = Workspace(environment)
    with workspace.held():
        await asyncio.to_thread(migrate, environment.settings.database, workspace.backups)
        yield environment, workspace


async def test_a_bot_that_only_waits_for_its_owner_stops_by_itself(on: BotHarness) -> None:
    async def attend(app: App) -> bool:
        return app.messaging.platforms.keys() != {"telegram"}

    async with prepared(on) as (environment, workspace):
        assert await running.run(environment, workspace, attend) == 0


async def test_what_goes_wrong_while_it_waits_ends_the_bot(on: BotHarness) -> None:
    async def attend(_app: App) -> bool:
        raise StorageFault("the disk is full")

    async with prepared(on) as (environment, workspace):
        with pytest.raises(StorageFault, match="the disk is full"):
            await running.run(environment, workspace, attend)
