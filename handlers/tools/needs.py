"""Everything that any toolkit needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from handlers.tools.sandbox import Sandbox
from routing.ports import Clock
from routing.records import HistoryStore
from routing.skills import Skills
from routing.stores import PreferenceStore


@dataclass(frozen=True, slots=True)
class ToolNeeds:
    """The bot's parts, by name; `files` holds a folder for each person."""

    files: Path
    sandbox: Sandbox
    history: HistoryStore
    preferences: PreferenceStore
    skills: Callable[[], Skills]
    clock: Clock
