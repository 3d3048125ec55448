"""Embedders with real processes, and a manual clock."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from routing.tools.embedding.worker import Launch, WorkerEmbedder, WorkerTimes
from tests.routing.llm.local.conftest import ManualClock
from tests.routing.tools.embedding.loaders import HERE

Make = Callable[..., WorkerEmbedder]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def make(clock: ManualClock) -> AsyncIterator[Make]:
    """`make("load", model, WorkerTimes(…), …)`; all processes are stopped afterwards."""
    made: list[WorkerEmbedder] = []

    def embedder(
        loader: str = "load", model: str = "double", times: WorkerTimes | None = None, **launch: Any
    ) -> WorkerEmbedder:
        started = Launch(model, f"{HERE}:{loader}", **launch)
        made.append(WorkerEmbedder("worker:double", started, clock, times or WorkerTimes()))
        return made[-1]

    yield embedder
    for each in made:
        await each.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe: a reader waits until a writer has opened and closed it."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


async def release(pipe: Path) -> None:
    """Release the reader, and wait until it has read."""
    await asyncio.to_thread(pipe.write_bytes, b"now")
