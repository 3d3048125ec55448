"""Fixtures with simcord as Discord: one server, Alice who owns the bot, and Bob."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.simulator.server import SimcordServer
from tests.simulator.team import Team, bot_settings
from tests.stories.conftest import library, probed_once, tmp_path
from tests.stories.harness import BotHarness, bot_harness

__all__ = ["library", "probed_once", "tmp_path"]


@pytest.fixture
async def sim() -> AsyncIterator[SimcordServer]:
    """simcord. At the end, it must have modelled every request of the bot."""
    async with SimcordServer() as made:
        yield made
        assert made.gaps == []


@pytest.fixture
def team(sim: SimcordServer) -> Team:
    """The server with its people."""
    return Team(sim)


@pytest.fixture
async def on(sim: SimcordServer, team: Team, tmp_path: Path) -> AsyncIterator[BotHarness]:
    """The settings for a bot on Discord only, open to everybody."""
    async with bot_harness(tmp_path / "workspace") as made:
        made.env |= bot_settings(sim, team) | {"BOT_ACCESS": "open"}
        yield made
