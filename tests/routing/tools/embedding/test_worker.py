"""A model in a worker process: real processes, with a small fake of the model."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import numpy as np
import pytest

from routing.errors import EmbedderFailed
from routing.tools.embedding.texts import FEW_TEXTS, load_rows
from routing.tools.embedding.worker import WorkerTimes
from routing.tools.fallback_reasons import INDEX_WAIT_SECONDS
from routing.types.vectors import Floats
from tests.polling import until
from tests.routing.llm.local.conftest import alive
from tests.routing.tools.embedding.calls import MANY, WAIT_FOR_LOADING, gone, loaded, with_short_timeout
from tests.routing.tools.embedding.conftest import Make, release
from tests.routing.tools.embedding.loaders import WIDTH, expected


async def test_rows_have_length_one_and_blank_texts_are_zero(make: Make) -> None:
    embedder = make(times=WAIT_FOR_LOADING)
    texts = ["tea", " ", "грüße 🙂", "", "tea"]
    rows = await embedder.embed(texts)
    assert rows.dtype == np.float32
    assert not rows[[1, 3]].any()
    assert np.allclose(rows[[0, 2, 4]], expected(["tea", "грüße 🙂", "tea"]), atol=1e-7)
    assert (await embedder.embed(["", " "])).tolist() == [[0.0] * WIDTH] * 2
    assert len(await embedder.embed([])) == 0


async def test_a_lone_surrogate_is_accepted(make: Make) -> None:
    rows = await make(times=WAIT_FOR_LOADING).embed(["a \ud83d b"])
    assert np.allclose(rows, expected(["a � b"]), atol=1e-7)


async def test_nothing_runs_before_the_first_call(make: Make) -> None:
    embedder = make()
    assert embedder.pid is None
    pid = await loaded(embedder)
    assert alive(pid)
    assert pid == await loaded(embedder)


async def test_a_message_does_not_wait_for_a_model_to_load_and_bulk_does(make: Make, pipe: Path) -> None:
    embedder = make("load_later", str(pipe))
    with pytest.raises(EmbedderFailed, match=f"{pipe} is still loading"):
        await embedder.embed(["hi"] * FEW_TEXTS)
    bulk = asyncio.create_task(embedder.embed(MANY))
    with pytest.raises(EmbedderFailed, match="still loading"):
        await embedder.embed(["hi"])
    await release(pipe)
    assert np.array_equal(await bulk, expected(MANY))
    assert np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_a_message_waits_up_to_its_limit(make: Make, pipe: Path) -> None:
    waiting = asyncio.create_task(make("load_later", str(pipe), WAIT_FOR_LOADING).embed(["hi"]))
    await release(pipe)
    assert np.array_equal(await waiting, expected(["hi"]))


async def test_a_start_continues_when_its_caller_is_cancelled(make: Make, pipe: Path) -> None:
    await load_rows()  # otherwise the call is cancelled during the import, before the start
    embedder = make("load_later", str(pipe))
    waiting = asyncio.create_task(embedder.embed(MANY))
    await asyncio.sleep(0)
    opened = asyncio.create_task(release(pipe))
    waiting.cancel()
    await opened
    await until(lambda: embedder.pid is not None)
    assert np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_a_message_that_stops_waiting_learns_that_the_model_is_loading(make: Make, pipe: Path) -> None:
    embedder = make("load_later", str(pipe))
    assert WorkerTimes().loading_seconds < INDEX_WAIT_SECONDS
    with pytest.raises(EmbedderFailed, match="still loading"):
        await embedder.embed(["hi"])


async def test_a_late_answer_of_a_cancelled_call_is_dropped(make: Make, pipe: Path) -> None:
    embedder = make()
    pid = await loaded(embedder)
    early = asyncio.create_task(embedder.embed([f"wait {pipe}", "early"]))
    await asyncio.sleep(0)
    late = asyncio.create_task(embedder.embed(["late", "too"]))
    await asyncio.sleep(0)
    early.cancel()
    await asyncio.wait([early])
    assert early.cancelled()
    await release(pipe)
    assert np.array_equal(await late, expected(["late", "too"]))
    assert embedder.pid == pid


async def test_a_message_waits_for_at_most_one_bulk_batch(make: Make, pipe: Path) -> None:
    embedder = make()
    await loaded(embedder)
    bulk = asyncio.create_task(embedder.embed([f"wait {pipe}", *MANY]))
    await asyncio.sleep(0)
    message = asyncio.create_task(embedder.embed(["hi"]))
    finished: list[asyncio.Task[Floats]] = []
    for each in (bulk, message):
        each.add_done_callback(finished.append)
    await release(pipe)
    assert np.array_equal((await bulk)[1:], expected(MANY))
    assert finished == [message, bulk]


async def test_an_idle_process_ends_and_the_next_call_restarts_it(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    embedder, others = make(times=WorkerTimes(idle_seconds=0.0)), (make(), make())
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))
    await until(lambda: embedder.pid is None)
    for other in others:
        await loaded(other)
    assert caplog.text.count(" loaded, process ") == 3, "it was not loaded again meanwhile"
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))


async def test_a_working_process_is_not_idle(make: Make, pipe: Path) -> None:
    embedder = make(times=WorkerTimes(idle_seconds=0.0))
    running = asyncio.create_task(embedder.embed([f"wait {pipe}", *MANY]))
    await release(pipe)
    assert np.array_equal((await running)[1:], expected(MANY))


async def test_a_call_that_began_before_the_idle_timeout_is_answered(make: Make, pipe: Path) -> None:
    embedder, hanging = make(times=WorkerTimes(idle_seconds=0.0)), make()
    await with_short_timeout(hanging)
    await loaded(embedder)
    running = asyncio.create_task(embedder.embed([f"wait {pipe}", *MANY]))
    with pytest.raises(EmbedderFailed, match="no answer within"):
        await hanging.embed(["hang"])
    await release(pipe)
    assert np.array_equal((await running)[1:], expected(MANY))


@pytest.mark.parametrize("said", ["hang", "hi"])
async def test_close_ends_an_idle_or_busy_process(make: Make, said: str) -> None:
    embedder = make()
    pid = await loaded(embedder)
    running = asyncio.create_task(embedder.embed([said]))
    await asyncio.sleep(0)
    await embedder.close()
    assert gone(pid)
    if said == "hang":
        with pytest.raises(EmbedderFailed, match="the program is ending"):
            await running
    await asyncio.wait([running])
    assert said == "hi" or running.exception()
    for texts in (["hi"], MANY):
        with pytest.raises(EmbedderFailed, match="the program is ending"):
            await embedder.embed(texts)


@pytest.mark.parametrize("turns", [0, 1, 2, 50])
async def test_close_ends_a_loading_process(make: Make, pipe: Path, turns: int) -> None:
    embedder = make("load_later", str(pipe))
    waiting = asyncio.create_task(embedder.embed(MANY))
    for _ in range(turns):
        await asyncio.sleep(0)
    await embedder.close()
    with pytest.raises(EmbedderFailed, match="the program is ending"):
        await waiting


async def test_library_output_does_not_disturb_the_protocol(make: Make) -> None:
    rows = await make(times=WAIT_FOR_LOADING).embed(["noise", "tea"])
    assert np.array_equal(rows, expected(["noise", "tea"]))
