"""A harness for the servers of one test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.handlers.tools.mcp.stage import Stage, staged


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path) as made:
        yield made
