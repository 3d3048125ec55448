"""The person who uses files, and the contents of a folder."""

from __future__ import annotations

from pathlib import Path

from routing.types.decisions import TierDecision
from routing.types.people import Person
from routing.types.tools import ToolScope


def scope(person_id: int = 7) -> ToolScope:
    return ToolScope(Person(person_id, "user", "Ada"), 1, TierDecision("balanced", "default", ""))


ADA, BOB = scope(), scope(8)


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))
