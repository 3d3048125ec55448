"""A bot with a model for every tier."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.ops.inspecting import POOLS
from tests.stories.harness import Stage, stage


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path / "workspace") as made:
        made.env = dict(POOLS)
        yield made
