"""Failing previews."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.adapters.shared.background import Background
from bot.adapters.shared.descriptor import CommonPace
from bot.adapters.shared.streaming import StreamedReply


class Live(StreamedReply):
    """A live reply whose previews all fail with a bug."""

    _call_errors = (OSError,)

    def __init__(self, background: Background, may_show: Callable[[], bool] = lambda: True) -> None:
        super().__init__(CommonPace(preview_after=0.0), background.spawn, streaming=True, may_show=may_show)
        self.tried = asyncio.Event()
        self.previews: list[str] = []

    async def _type(self) -> None:
        """Not used here."""

    async def _preview(self, now: float) -> None:
        self._fresh = False
        self.previews.append(self._text)
        self.tried.set()
        raise KeyError("a bug in the renderer")

    def _call_failed(self, error: Exception) -> None:
        """Not used here."""


async def test_a_bug_in_a_preview_turns_previews_off_for_the_turn() -> None:
    background = Background("Test")
    live = Live(background)
    live.show("one")
    async with asyncio.timeout(60):
        await live.tried.wait()
    await background.close(20)
    live.show("one two")
    assert live._timer is None, "nothing is due"
    assert live.previews == ["one"]


async def test_a_process_that_others_may_have_replaced_shows_nothing_more() -> None:
    background, asked = Background("Test"), asyncio.Event()

    def may_show() -> bool:
        asked.set()
        return False

    live = Live(background, may_show)
    live.show("one")
    async with asyncio.timeout(60):
        await asked.wait()
    await background.close(20)
    live.show("one two")
    assert (live.previews, live._timer) == ([], None)
