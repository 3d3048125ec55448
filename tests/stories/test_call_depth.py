"""The number of our own stack frames between a conversation's worker and LiteLLM."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.litellm_setup import litellm_without_clients
from tests.stories.harness import BotHarness, running

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bot", "handlers", "routing", "storage")
DOCUMENTED = re.compile(r"^KeyedQueue\._run (?:→ [\w.]+\s+)+", re.MULTILINE)
MAX_FRAMES = 14


def frames_of_ours() -> list[str]:
    """Our functions in the chain of awaits, outermost first.

    A coroutine that awaits another is its caller's frame (`f_back`), so the stack up to the event loop is the chain of
    awaits. Only frames in our packages count. Each resumed generator or coroutine is one frame; a context manager is
    none.
    """
    found, frame = [], sys._getframe(1).f_back
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES:
            found.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return found[::-1]


async def test_a_worker_is_at_most_fourteen_frames_from_litellm(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    litellm = litellm_without_clients()
    acompletion, stacks = litellm.acompletion, []

    async def counting(**arguments: Any) -> Any:
        stacks.append(frames_of_ours())
        return await acompletion(**arguments)

    monkeypatch.setattr(litellm, "acompletion", counting)
    on.ms.reply("Hello!")
    async with running(on):
        on.tg.say("hi")
        await on.tg.reply()
    (stack,) = stacks
    (documented,) = DOCUMENTED.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert stack == documented.split()[::2]
    assert len(stack) <= MAX_FRAMES
