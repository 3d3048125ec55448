"""The prompt's history file, and the other ends of three pipes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.adapters.console.pipes import Ends


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "history"


@pytest.fixture
def ends() -> Iterator[Ends]:
    all_ends = Ends()
    yield all_ends
    all_ends.drop()
