"""Hooks after a turn delay no reply."""

from __future__ import annotations

import asyncio

import pytest

from handlers.context import Reply
from handlers.post_turn import PostTurnHooks
from routing.types.history import TurnFacts, TurnRecord
from routing.types.messages import ChatKey, InboundMessage, UserKey

HERE = InboundMessage(UserKey("console", "1"), ChatKey("console", "1"), "bot", "1", "hi", 0.0)
FACTS = TurnFacts("balanced", "default", "a/x", 1.0)
TURN = TurnRecord("t", 1, 1, "hi", facts=FACTS)


async def test_hooks_run_for_turns_only() -> None:
    seen: list[str] = []
    done = asyncio.Event()

    async def look(message: InboundMessage, record: TurnRecord) -> None:
        seen.append(record.turn_id)
        done.set()

    after = PostTurnHooks(look)
    after(HERE, Reply("a command"))
    after(HERE, Reply("compacted", record=TurnRecord("c", 1, 1, "")))
    after(HERE, Reply("an answer", record=TURN))
    assert seen == []
    await done.wait()
    assert seen == ["t"]


async def test_a_failing_hook_is_logged_and_delays_no_other(caplog: pytest.LogCaptureFixture) -> None:
    done = asyncio.Event()

    async def fail(message: InboundMessage, record: TurnRecord) -> None:
        raise ValueError("no such column")

    async def look(message: InboundMessage, record: TurnRecord) -> None:
        done.set()

    after = PostTurnHooks(fail, look)
    after(HERE, Reply("an answer", record=TURN))
    await done.wait()
    assert "The check after turn t failed" in caplog.text
    assert "no such column" in caplog.text


async def test_unfinished_hooks_are_cancelled_at_shutdown() -> None:
    left = asyncio.Event()
    began = asyncio.Event()

    async def look(message: InboundMessage, record: TurnRecord) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    after = PostTurnHooks(look)
    after(HERE, Reply("an answer", record=TURN))
    await began.wait()
    await after.close()
    assert left.is_set()
