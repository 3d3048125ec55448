"""The loopback Telegram server's schema is part of the repository."""

from __future__ import annotations

import re
from pathlib import Path

from tests.servers.telegram.schema import DATA, SCHEMA

ROOT = Path(__file__).resolve().parents[2]
_UP = re.compile(r"parents\[(\d+)\]")


def test_the_schema_is_in_the_repository_with_its_licence() -> None:
    assert DATA.is_relative_to(ROOT)
    assert SCHEMA.version == "Bot API 10.1"
    licence = DATA.with_suffix(".LICENCE.md").read_text(encoding="utf-8")
    assert SCHEMA.version in licence
    assert "MIT License" in licence
    assert "permission notice" in licence


def test_no_test_reads_outside_the_repository() -> None:
    """No test or benchmark uses paths above the project's root, because a clone may be anywhere."""
    files = [path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    beside = [
        str(path.relative_to(ROOT))
        for path in files
        for climbed in _UP.findall(path.read_text(encoding="utf-8"))
        if int(climbed) >= len(path.relative_to(ROOT).parts)
    ]
    assert len(files) > 100
    assert beside == []
