"""What the doctor's checks of the platforms have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from bot.findings import Finding, fail, ok, warn
from routing.errors import TierbotError

MAX_DRIFT_SECONDS = 30.0
"""Beyond this, pairing codes, certificates and the deadlines of interactions are affected."""


class PlatformSilent(TierbotError):
    """The platform could not be asked; one clause without secrets says why."""


def unreachable(name: str, address: str, variables: str, error: PlatformSilent) -> Finding:
    """The platform does not answer at this address, which these environment variables decide."""
    fix = f"Check the internet connection, {variables}."
    return fail(name, f"{address} can't be reached: {error}", fix)


def clock(title: str, now: float, dates: Sequence[str]) -> list[Finding]:
    """How far the machine's time `now` (Unix seconds) is from the last of the HTTP `dates`; nothing without one."""
    seconds = None
    with contextlib.suppress(ValueError, IndexError):
        seconds = now - parsedate_to_datetime(dates[-1]).timestamp()
    if seconds is None:
        return []
    if abs(seconds) <= MAX_DRIFT_SECONDS:
        return [ok("clock", f"agrees with {title}'s")]
    way = "ahead of" if seconds > 0 else "behind"
    fix = "Turn time synchronisation on: sudo timedatectl set-ntp true"
    return [warn("clock", f"{abs(seconds):.0f} s {way} {title}'s", fix)]
