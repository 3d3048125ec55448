"""Reads what a platform sends, and skips what can't be read."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def parse(platform: str, what: str, raw: object, read: Callable[[], T]) -> T | None:
    """What `read` returns; None if it raises. One event that can't be parsed must not hold up the others."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - receive loop: the libraries raise anything for unknown events
        log = logging.getLogger(f"bot.adapters.{platform.lower()}")
        log.error("%s: can't parse %s, skipping it: %s", platform, what, type(error).__name__)
        log.debug("the unreadable event has %s", _outline(raw))
        return None


def _outline(raw: object) -> object:
    """The field names, without what people wrote."""
    return {name: _outline(value) for name, value in raw.items()} if isinstance(raw, dict) else type(raw).__name__
