"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back() -> None:
    """Ask glibc’s allocator, which otherwise keeps what was freed for what may come: 7 MB after the index of the tools
    was made. Other allocators have no such call, and nothing happens. Takes some milliseconds."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
