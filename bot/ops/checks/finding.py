"""One line of the doctor's report, and what every check is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from bot.settings import Environment
from bot.workspace import Workspace
from routing.ports import Clock

Status = Literal["ok", "warn", "fail"]
NETWORK_SECONDS = 5.0
"""How long a service may take to answer."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`detail` says what is; `mend` says what to do about it, and is empty when all is well."""

    name: str
    status: Status
    detail: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What there is to look at. `clock` is the machine's, in Unix seconds."""

    environment: Environment
    workspace: Workspace
    clock: Clock
    network_seconds: float = NETWORK_SECONDS


Check = Callable[[Inspection], Awaitable[list[Finding]]]


def ok(name: str, detail: str) -> Finding:
    """All is well."""
    return Finding(name, "ok", detail)


def warn(name: str, detail: str, mend: str) -> Finding:
    """The bot runs, but something will surprise."""
    return Finding(name, "warn", detail, mend)


def fail(name: str, detail: str, mend: str) -> Finding:
    """The bot can't do its work."""
    return Finding(name, "fail", detail, mend)


def size(count: float) -> str:
    """Bytes as people read them, in powers of 1000."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
