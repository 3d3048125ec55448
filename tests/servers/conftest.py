"""The loopback servers of Telegram, Discord and the models, and their clients."""

from collections.abc import AsyncIterator

import httpx
import pytest
from telegram import Bot

from tests.servers.discord import DiscordServer
from tests.servers.discord.sdk import Raw
from tests.servers.discord.sdk import raw as discord_client
from tests.servers.fixtures import dc, ms, tg
from tests.servers.sdk import a_bot
from tests.servers.telegram import TelegramServer

__all__ = ["dc", "ms", "tg"]


@pytest.fixture
async def bot(tg: TelegramServer) -> AsyncIterator[Bot]:
    async with a_bot(tg) as bot:
        yield bot


@pytest.fixture
async def raw(tg: TelegramServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{tg.root}/bot{tg.token}/", timeout=60) as client:
        yield client


@pytest.fixture
async def http(dc: DiscordServer) -> AsyncIterator[Raw]:
    async with discord_client(dc) as client:
        yield client


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        yield http
