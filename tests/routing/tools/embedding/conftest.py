"""Embedders over real processes, and a clock that moves by hand."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from routing.tools.embedding.worker import Launch, Patience, WorkerEmbedder
from tests.routing.llm.local.conftest import HandClock
from tests.routing.tools.embedding.loaders import HERE

Make = Callable[..., WorkerEmbedder]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def make(clock: HandClock) -> AsyncIterator[Make]:
    """`make("load", model, Patience(…), …)`; every process is gone afterwards."""
    made: list[WorkerEmbedder] = []

    def embedder(
        loader: str = "load", model: str = "double", patience: Patience | None = None, **launch: object
    ) -> WorkerEmbedder:
        started = Launch(model, f"{HERE}:{loader}", **launch)  # type: ignore[arg-type]
        made.append(WorkerEmbedder("worker:double", started, clock, patience or Patience()))
        return made[-1]

    yield embedder
    for each in made:
        await each.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A reader waits until somebody has written and closed."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


async def let_go(pipe: Path) -> None:
    """Waits for the reader, too: afterwards it has been there."""
    await asyncio.to_thread(pipe.write_bytes, b"now")
