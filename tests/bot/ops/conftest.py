"""A bot with a model for every tier."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.ops.doctor import POOLS
from tests.stories.harness import BotHarness, bot_harness


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with bot_harness(tmp_path / "workspace") as made:
        made.env = dict(POOLS)
        yield made
