"""The lines of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `detail` is the state; `fix` is what to do, empty if there is nothing to fix."""

    name: str
    status: Status
    detail: str
    fix: str = ""


def ok(name: str, detail: str) -> Finding:
    """A finding without a problem."""
    return Finding(name, "ok", detail)


def warn(name: str, detail: str, fix: str) -> Finding:
    """The bot runs, but something may surprise the owner."""
    return Finding(name, "warn", detail, fix)


def fail(name: str, detail: str, fix: str) -> Finding:
    """The bot can't work."""
    return Finding(name, "fail", detail, fix)


def size(count: float) -> str:
    """A size in bytes as text, in powers of 1000."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
