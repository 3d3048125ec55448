"""Calls of the Markdown and TeX libraries, which refuse odd text and may panic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def guarded(convert: Callable[[], T], otherwise: T) -> T:
    """What `convert` makes, or `otherwise` where the library refuses the text."""
    try:
        return convert()
    except (ValueError, LookupError, RecursionError):
        return otherwise
    except BaseException as error:
        # A panic of the Rust parser is neither an Exception nor importable by name; a message must not end the bot.
        if type(error).__name__ != "PanicException":
            raise
        return otherwise
