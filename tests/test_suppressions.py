"""Every suppressed finding of ruff or mypy has a reason, in the same line or right above."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("bot", "handlers", "routing", "storage", "migrations", "benchmarks", "tests")
SUPPRESSED = re.compile(r"# (?:noqa: [A-Z]+\d+|type: ignore\[[a-z-]+\])")


def without_reason(code: str) -> list[int]:
    """The lines that suppress something without a reason."""
    lines = code.splitlines()
    return [
        number
        for number, line in enumerate(lines, 1)
        if SUPPRESSED.search(line)
        and not re.search(r"[a-z]", SUPPRESSED.split(line)[-1])
        and not lines[number - 2].lstrip().startswith("#")
    ]


def test_a_missing_reason_is_found() -> None:
    bare, given = "import a  # no" + "qa: E402", "import a  # no" + "qa: E402 - must be later"
    assert without_reason(f"{bare}\n{given}\n# must be later\n{bare}") == [1]


def test_every_suppression_has_a_reason() -> None:
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    found = {str(path): without_reason(path.read_text(encoding="utf-8")) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}
