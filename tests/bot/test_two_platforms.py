"""Telegram and Discord in one process: problems of one do not affect the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.app import App
from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.running import started
from routing.errors import ConfigError
from storage.database.migrate import migrate
from tests.servers.discord import DiscordServer
from tests.servers.discord.sdk import pointed
from tests.stories.harness import OWNER, BotHarness, bot_harness


@asynccontextmanager
async def both(folder: Path) -> AsyncIterator[tuple[BotHarness, DiscordServer]]:
    async with bot_harness(folder) as on, DiscordServer() as dc:
        on.env |= {"DISCORD_BOT_TOKEN": dc.token, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
        on.env["BOT_OWNERS"] = f"telegram:{OWNER},discord:1001"
        with pointed(dc):
            yield on, dc
        assert dc.violations == []


@asynccontextmanager
async def served(on: BotHarness) -> AsyncIterator[App]:
    on.write_config()
    environment = load(on.environment())
    workspace = Workspace(environment)
    with workspace.held():
        await asyncio.to_thread(migrate, environment.settings.database, workspace.backups)
        async with started(environment, workspace) as app:
            yield app


async def test_both_platforms_answer(tmp_path: Path) -> None:
    async with both(tmp_path / "workspace") as (on, dc), served(on) as app:
        assert list(app.messaging.platforms) == ["telegram", "discord"]
        there, here = on.tg.say("hello there"), dc.say("hello here")
        assert "hello there" in (await on.tg.reply(there, after=there)).text
        assert "hello here" in (await dc.reply(here)).text


async def test_a_refused_discord_token_is_reported_on_telegram_which_keeps_working(tmp_path: Path) -> None:
    async with both(tmp_path / "workspace") as (on, dc):
        dc.revoke()
        async with served(on) as app:
            assert list(app.messaging.platforms) == ["telegram"]
            await on.tg.reply(matching="⚠️ Discord refuses DISCORD_BOT_TOKEN")
            there = on.tg.say("hello there")
            await on.tg.reply(there, after=there, matching="hello there")


async def test_a_refused_telegram_token_is_reported_on_discord_which_keeps_working(tmp_path: Path) -> None:
    async with both(tmp_path / "workspace") as (on, dc):
        on.tg.revoke()
        async with served(on) as app:
            assert list(app.messaging.platforms) == ["discord"]
            await dc.reply(matching="⚠️ Telegram refuses TELEGRAM_BOT_TOKEN")
            await dc.reply(dc.say("hello here"), matching="hello here")


async def test_two_refused_tokens_are_reported_in_one_sentence(tmp_path: Path) -> None:
    async with both(tmp_path / "workspace") as (on, dc):
        on.tg.revoke()
        dc.revoke()
        with pytest.raises(ConfigError, match=r"refuses (TELEGRAM|DISCORD)_BOT_TOKEN"):
            async with served(on):
                raise AssertionError("nothing serves")


async def test_telegram_works_while_discord_is_unreachable(tmp_path: Path) -> None:
    async with both(tmp_path / "workspace") as (on, dc):
        await dc.go_down()
        async with served(on) as app:
            assert list(app.messaging.platforms) == ["telegram", "discord"]
            there = on.tg.say("hello there")
            assert "hello there" in (await on.tg.reply(there, after=there)).text
            await dc.come_back()
            await dc.ready()
            here = dc.say("hello here")
            assert "hello here" in (await dc.reply(here)).text
