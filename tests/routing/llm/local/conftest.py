"""A runtime over the real shipped model, with a clock that moves by hand."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from routing.llm.local.process import Launch
from routing.llm.local.runtime import LocalRuntime

IDLE_SECONDS = 600.0
# Long enough for a machine that does ten other things; no test waits it out.
PATIENCE = 60.0
SHORT = Launch(context=512)


@dataclass(slots=True)
class HandClock:
    """Unix seconds that stand still until moved."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def runtime(tmp_path: Path, clock: HandClock) -> AsyncIterator[LocalRuntime]:
    runtime = LocalRuntime(tmp_path, clock, IDLE_SECONDS, check_seconds=0.01, launch=SHORT)
    yield runtime
    await runtime.close()


async def until(condition: Callable[[], bool]) -> None:
    """Return when `condition` holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - another process can't set an event of ours
            await asyncio.sleep(0.01)


def command_line(pid: int) -> list[str]:
    """The arguments of a process, as everybody on the machine can read them."""
    return Path(f"/proc/{pid}/cmdline").read_text("utf-8").split("\0")


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text("utf-8")
    except (ProcessLookupError, FileNotFoundError):
        return False
