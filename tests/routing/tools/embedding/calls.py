"""Calls to a model in a worker process, and the state of that process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from routing.errors import EmbedderFailed
from routing.tools.embedding.texts import FEW_TEXTS
from routing.tools.embedding.worker import WorkerEmbedder, WorkerTimes
from tests.routing.llm.local.conftest import TIMEOUT_SECONDS
from tests.routing.tools.embedding.loaders import expected

MANY = [f"text {number}" for number in range(3 * FEW_TEXTS)]
WAIT_FOR_LOADING = WorkerTimes(loading_seconds=TIMEOUT_SECONDS)


async def loaded(embedder: WorkerEmbedder) -> int:
    """The process id, once its model is loaded."""
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))
    assert embedder.pid is not None
    return embedder.pid


async def with_short_timeout(embedder: WorkerEmbedder) -> int:
    """The process id once its model is loaded. From then on it must answer at once; a new process has the usual
    time."""
    pid = await loaded(embedder)
    worker = embedder._supervisor.worker
    assert worker is not None
    worker._launch = replace(worker._launch, answer_seconds=0.01)
    return pid


def gone(pid: int) -> bool:
    """Not even a zombie is left."""
    return not Path(f"/proc/{pid}").exists()


async def failure(embedder: WorkerEmbedder) -> str:
    with pytest.raises(EmbedderFailed) as failed:
        await embedder.embed(MANY)
    assert embedder.pid is None
    return str(failed.value)
