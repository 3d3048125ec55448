"""The loopback Discord server, with a platform or only a client connected to it."""

from collections.abc import AsyncIterator

import pytest

from tests.bot.adapters.discord.client import Sender, connected
from tests.bot.adapters.discord.harness import DiscordHarness, running_platform
from tests.servers.discord import DiscordServer
from tests.servers.fixtures import dc

__all__ = ["dc"]


@pytest.fixture
async def harness(dc: DiscordServer) -> AsyncIterator[DiscordHarness]:
    async with running_platform(dc) as made:
        yield made


@pytest.fixture
async def sender(dc: DiscordServer) -> AsyncIterator[Sender]:
    async with connected(dc) as made:
        yield made
