"""The loopback Telegram server and a platform connected to it."""

from collections.abc import AsyncIterator

import pytest

from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform
from tests.servers.fixtures import tg
from tests.servers.telegram import TelegramServer

__all__ = ["tg"]


@pytest.fixture
async def harness(tg: TelegramServer) -> AsyncIterator[TelegramHarness]:
    async with running_platform(tg) as made:
        yield made
