"""A stage on which Discord is simcord: one server, Alice who owns the bot, and Bob."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.library import litellm_without_clients
from tests.simulator.server import SimcordServer
from tests.simulator.team import Team, told
from tests.stories.harness import Stage, stage


@pytest.fixture(scope="session", autouse=True)
def library() -> None:
    """Loaded before the first story: on a busy machine that takes longer than a story waits for a reply."""
    litellm_without_clients()


@pytest.fixture
async def sim() -> AsyncIterator[SimcordServer]:
    """At the end it has modelled everything that the bot asked for."""
    async with SimcordServer() as made:
        yield made
        assert made.gaps == []


@pytest.fixture
def team(sim: SimcordServer) -> Team:
    """The server with its people."""
    return Team(sim)


@pytest.fixture
async def on(sim: SimcordServer, team: Team, tmp_path: Path) -> AsyncIterator[Stage]:
    """The bot to be, on Discord only, open to everybody."""
    async with stage(tmp_path / "workspace") as made:
        made.env |= told(sim, team) | {"BOT_ACCESS": "open"}
        yield made
