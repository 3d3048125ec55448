"""Where the lines typed before are kept."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "history"
