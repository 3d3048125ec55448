"""The rules for a bot's frames, and the maximum time without a heartbeat (gateway documentation)."""

import asyncio
from collections.abc import Callable
from typing import Any

GRACE = 5.0
"""Tolerance in seconds for a late heartbeat on a busy machine."""
_IDENTIFY = {"token", "properties", "compress", "large_threshold", "shard", "presence", "intents"}
_PROPERTIES = {"os", "browser", "device"}
_LEAST, _MOST = 50, 250


def identify_fault(body: Any) -> str:
    """The error in the `d` of an IDENTIFY, apart from its token, intents and shard; empty if it is valid."""
    if not isinstance(body, dict) or not isinstance(body.get("properties"), dict):
        return "IDENTIFY without properties"
    if unknown := body.keys() - _IDENTIFY:
        return f"IDENTIFY with {sorted(unknown)}"
    if unknown := body["properties"].keys() - _PROPERTIES:
        return f"IDENTIFY with the properties {sorted(unknown)}"
    threshold = body.get("large_threshold", _LEAST)
    if type(threshold) is not int or not _LEAST <= threshold <= _MOST:
        return f"large_threshold is {threshold!r}, not from {_LEAST} to {_MOST}"
    if type(body.get("compress", False)) is not bool:
        return f"compress is {body['compress']!r}"
    return ""


def heartbeat_fault(body: Any, seq: int | None) -> str:
    """The error in the `d` of a heartbeat after `seq` events (None before IDENTIFY or RESUME, when the bot continues a
    session that is not known yet); empty if it is valid."""
    fine = body is None or (type(body) is int and body >= 0 and (seq is None or body <= seq))
    return "" if fine else f"a heartbeat's d is the last s, at most {seq}, not {body!r}"


class Pulse:
    """Calls `lost` after `seconds` without a call of `felt`."""

    def __init__(self, seconds: float, lost: Callable[[], None]) -> None:
        self._seconds = seconds
        self._lost = lost
        self._timer = asyncio.get_running_loop().call_later(seconds, lost)

    def felt(self) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._lost)

    def stop(self) -> None:
        self._timer.cancel()
