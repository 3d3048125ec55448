"""Commands are registered only when they have changed."""

from __future__ import annotations

import pytest

from bot.adapters.shared.registration import register_if_changed
from tests.bot.adapters.harness import States


async def test_each_change_is_registered_once_and_failures_are_retried() -> None:
    state, calls = States(), []

    async def works() -> None:
        calls.append("works")

    async def fails() -> None:
        raise ConnectionError

    assert await register_if_changed(state, "menu", [1, ["a"]], works)
    assert not await register_if_changed(state, "menu", [1, ["a"]], works)
    with pytest.raises(ConnectionError):
        await register_if_changed(state, "menu", [2, ["a"]], fails)
    assert await register_if_changed(state, "menu", [2, ["a"]], works), "another bot's token"
    assert len(calls) == 2
