"""Our code reads and writes no file on the event loop."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from blockbuster import BlockingError

from handlers.tools.folder import own_folder
from routing.types import time_zones
from tests.stories.harness import BotHarness, ask, running


async def test_the_guard_covers_files(on: BotHarness, tmp_path: Path) -> None:
    async with running(on):
        with pytest.raises(BlockingError), own_folder(tmp_path, 1):
            pass


@pytest.mark.parametrize(("typed", "words"), [("hi", "Hello!"), ("/status", "Cost today"), ("/history", "this one")])
async def test_a_persons_time_zone_is_read_in_a_thread(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch, typed: str, words: str
) -> None:
    on.ms.reply("Hello!")
    on.ms.reply("Hello!")
    async with running(on):
        await ask(on, "/settings timezone Asia/Kathmandu")
        await ask(on, "hello")
        monkeypatch.setattr(time_zones, "_read", {})
        ZoneInfo.clear_cache()
        assert words in (await ask(on, typed)).text
