"""Reads the project's documents."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def first_cells(page: str, pattern: str) -> list[str]:
    """Names in backticks in the first column of the page's tables; a cell may have several."""
    cells = re.findall(r"^\|([^|]*)\|", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return [name for cell in cells for name in re.findall(rf"`({pattern})`", cell)]
