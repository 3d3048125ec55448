"""A harness for the servers of one test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.handlers.tools.mcp.harness import McpHarness, mcp_harness


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[McpHarness]:
    async with mcp_harness(tmp_path) as made:
        yield made
