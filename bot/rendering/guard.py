"""Calls of the Markdown and TeX libraries, which refuse odd text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def guarded(convert: Callable[[], T], otherwise: T) -> T:
    """The result of `convert`, or `otherwise` where the library refuses the text."""
    try:
        return convert()
    except (ValueError, LookupError, RecursionError):
        return otherwise
