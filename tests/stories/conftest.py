"""A stage for each story."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.stories.harness import Stage, stage


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    """The loopback servers with an empty workspace."""
    async with stage(tmp_path / "workspace") as made:
        yield made
