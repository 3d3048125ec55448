"""Registering the command list with a platform, only when it has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable

from routing.ports import StateStore


async def register_if_changed(
    state: StateStore, key: str, content: object, register: Callable[[], Awaitable[object]]
) -> bool:
    """Call `register` unless `content` (anything JSON can hold) was registered last; whether it was called.

    What `register` raises is passed on, and the next start tries again.
    """
    fingerprint = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    if await state.get(key) == fingerprint:
        return False
    await register()
    await state.put(key, fingerprint)
    return True
