"""A small study on disk, and a model server that requires valid requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.bench_tools.study import Study, read
from tests.benchmarks.study import PROMPTS, TOOLS
from tests.servers.fixtures import ms_of_valid_requests

__all__ = ["ms_of_valid_requests"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study of twenty tools in four families, and two prompts."""
    (tmp_path / "tools.json").write_text(json.dumps({"source": "x", "tools": TOOLS}), "utf-8")
    (tmp_path / "prompts.json").write_text(json.dumps({"source": "x", "prompts": PROMPTS}), "utf-8")
    return tmp_path


@pytest.fixture
def study(folder: Path) -> Study:
    return read(folder)
