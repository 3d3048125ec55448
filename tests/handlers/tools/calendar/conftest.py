"""Ann's account on a calendar server, as a fixture."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.handlers.tools.calendar.harness import Office, office


@pytest.fixture
async def on(in_memory: Path) -> AsyncIterator[Office]:
    async with office(in_memory) as made:
        yield made
