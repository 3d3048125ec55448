"""A process that is killed, hangs, sends garbage or never starts costs one call, and a new one is started."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from routing.errors import EmbedderFailed
from routing.tools.embedding.worker import Launch, WorkerEmbedder, WorkerTimes
from tests.polling import until
from tests.routing.llm.local.conftest import TIMEOUT_SECONDS, ManualClock, alive
from tests.routing.tools.embedding.calls import MANY, failure, gone, loaded, with_short_timeout
from tests.routing.tools.embedding.conftest import Make
from tests.routing.tools.embedding.loaders import expected


async def test_a_kill_fails_only_the_running_call(make: Make, pipe: Path) -> None:
    embedder = make()
    for _ in range(3):
        pid = await loaded(embedder)
        running = asyncio.create_task(embedder.embed([f"wait {pipe}"]))
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EmbedderFailed, match="was killed"):
            await running
        assert gone(pid)
        assert np.array_equal(await embedder.embed(MANY), expected(MANY))
        assert embedder.pid != pid


@pytest.mark.parametrize("turns", [0, 1, 3, 13, 55])
async def test_a_kill_at_any_instant_gives_one_answer_or_error(make: Make, turns: int) -> None:
    embedder = make()
    pid = await loaded(embedder)
    running = asyncio.create_task(embedder.embed(MANY * 4))
    for _ in range(turns):
        await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    (outcome,) = await asyncio.gather(running, return_exceptions=True)
    if isinstance(outcome, BaseException):
        assert isinstance(outcome, EmbedderFailed)
        assert "was killed" in str(outcome)
    else:
        assert np.array_equal(outcome, expected(MANY * 4))
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))
    await until(lambda: gone(pid))


async def restarted(embedder: WorkerEmbedder, dead: int) -> None:
    await until(lambda: embedder.pid not in (None, dead))


async def test_a_kill_between_calls_restarts_at_once(make: Make) -> None:
    embedder = make()
    for _ in range(3):
        pid = await loaded(embedder)
        os.kill(pid, signal.SIGKILL)
        await restarted(embedder, pid)
        assert gone(pid)
        assert np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_a_second_kill_waits_for_the_next_call(make: Make, clock: ManualClock) -> None:
    embedder = make(times=WorkerTimes(retry_seconds=10.0, loading_seconds=TIMEOUT_SECONDS))
    first = await loaded(embedder)
    os.kill(first, signal.SIGKILL)
    await restarted(embedder, first)
    second = embedder.pid
    assert second is not None
    os.kill(second, signal.SIGKILL)
    await until(lambda: embedder.pid is None and gone(second))
    with pytest.raises(EmbedderFailed, match=r"was killed.*; trying again in 10 s"):
        await embedder.embed(["hi"])
    clock.now += 10
    assert np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_a_hanging_process_is_replaced(make: Make) -> None:
    embedder = make()
    pid = await with_short_timeout(embedder)
    with pytest.raises(EmbedderFailed, match=r"no answer within 0\.01 s"):
        await embedder.embed(["hang"])
    assert gone(pid)
    await loaded(embedder)


async def test_a_hang_is_detected_without_waiting_callers(make: Make) -> None:
    embedder = make()
    pid = await with_short_timeout(embedder)
    waiting = asyncio.create_task(embedder.embed(["hang"]))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    await until(lambda: gone(pid))
    await loaded(embedder)


async def test_an_unused_process_is_not_hanging(make: Make) -> None:
    quiet, hanging = make(), make()
    pid = await with_short_timeout(quiet)
    await with_short_timeout(hanging)
    with pytest.raises(EmbedderFailed, match="no answer within"):
        await hanging.embed(["hang"])
    assert quiet.pid == pid
    assert alive(pid)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise", "double: this text is too much"),
        ("nan", "double: its process sent a vector with values that are not numbers"),
        ("fewer", "double: its process sent 1 vectors for 2 texts"),
    ],
)
async def test_a_failing_text_leaves_the_process_alive(make: Make, text: str, reason: str) -> None:
    embedder = make()
    pid = await loaded(embedder)
    with pytest.raises(EmbedderFailed) as failed:
        await embedder.embed([text, "tea"])
    assert str(failed.value) == reason
    assert await loaded(embedder) == pid


async def test_rows_of_two_widths_are_refused(make: Make) -> None:
    with pytest.raises(EmbedderFailed, match="its process sent"):
        await make().embed([*MANY, "wide"])


async def test_an_invalid_message_is_reported(clock: ManualClock) -> None:
    launch = Launch("m", interpreter=("sh", "-c", "echo 'Welcome to the shell of this machine'; cat"))
    embedder = WorkerEmbedder("worker:m", launch, clock)
    with pytest.raises(EmbedderFailed, match="m: its process sent something other than vectors"):
        await embedder.embed(MANY)
    await embedder.close()


async def test_reasons_of_a_failed_start(make: Make, clock: ManualClock, tmp_path: Path) -> None:
    assert await failure(make("load_badly", str(tmp_path / "x"))) == f"{tmp_path / 'x'}: the weights are torn"
    ended = await failure(make("load_and_die"))
    assert ended == "double: its process ended with exit code 9: the disk is on fire"
    assert "can't be started" in await failure(make(interpreter=("/nowhere/python",)))
    assert "no_such_loader" in await failure(make("no_such_loader"))
    killed = await failure(make(interpreter=("sh", "-c", "kill -KILL $$")))
    assert killed == "double: its process was killed, probably because memory ran out"


async def test_a_missing_package_is_explained(clock: ManualClock) -> None:
    launch = Launch("all-MiniLM-L6-v2", interpreter=(sys.executable, "-S"))
    said = await failure(WorkerEmbedder("w", launch, clock))
    assert said == ("all-MiniLM-L6-v2: sentence-transformers is not installed: run `make sentence-transformers`")


async def test_loading_times_out(make: Make, pipe: Path) -> None:
    embedder = make("load_later", str(pipe), load_seconds=0.5)
    with pytest.raises(EmbedderFailed, match=r"was not loaded within 0\.5 s"):
        await embedder.embed(MANY)


async def test_repeated_failures_back_off(make: Make, clock: ManualClock, tmp_path: Path) -> None:
    counted = tmp_path / "starts"
    embedder = make("load_badly", str(counted), WorkerTimes(retry_seconds=10.0, max_retry_seconds=35.0))
    for starts, wait in ((1, 10), (2, 20), (3, 35), (4, 35)):
        assert (await failure(embedder)).endswith("the weights are torn")
        assert (await failure(embedder)).endswith(f"the weights are torn; trying again in {wait} s")
        clock.now += wait - 1
        assert (await failure(embedder)).endswith("trying again in 1 s")
        assert counted.read_text("utf-8") == "x" * starts
        clock.now += 1


async def test_a_silent_process_backs_off_until_it_answers(make: Make, clock: ManualClock) -> None:
    embedder = make(times=WorkerTimes(retry_seconds=10.0, loading_seconds=TIMEOUT_SECONDS))
    for _ in range(2):
        with pytest.raises(EmbedderFailed, match="exit code 7"):
            await embedder.embed(["die"])
    with pytest.raises(EmbedderFailed, match=r"exit code 7.*; trying again in 10 s"):
        await embedder.embed(["tea"])
    clock.now += 10
    for _ in range(3):
        assert np.array_equal(await embedder.embed(["tea"]), expected(["tea"]))
        with pytest.raises(EmbedderFailed, match="exit code 7"):
            await embedder.embed(["die"])
