"""A stage for each story."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.library import litellm_without_clients
from tests.stories.harness import Stage, stage


@pytest.fixture(scope="session", autouse=True)
def library() -> None:
    """Loaded before the first story: on a busy machine that takes longer than a story waits for a reply."""
    litellm_without_clients()


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    """The loopback servers with an empty workspace."""
    async with stage(tmp_path / "workspace") as made:
        yield made
