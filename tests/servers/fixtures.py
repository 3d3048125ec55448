"""The loopback servers as fixtures. A conftest imports those that its tests use."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.servers.discord import DiscordServer
from tests.servers.model import ModelServer
from tests.servers.telegram import TelegramServer


@pytest.fixture
async def tg() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
async def dc() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest.fixture
async def ms() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture(name="ms")
async def ms_of_valid_requests() -> AsyncIterator[ModelServer]:
    """`ms` that fails the test after an invalid request."""
    async with ModelServer() as server:
        yield server
        assert [problem for call in server.calls for problem in call.violations] == []
