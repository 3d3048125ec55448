"""A model in a process of its own: real processes, a small double of the model."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from routing.doubts import PATIENCE_SECONDS
from routing.embedding.child import Launch
from routing.embedding.embedder import FEW_TEXTS, EmbedderFailed
from routing.embedding.worker import Patience, WorkerEmbedder
from routing.selection.lexical import Floats
from tests.routing.embedding.conftest import Make, let_go
from tests.routing.embedding.loaders import WIDTH, expected
from tests.routing.local.conftest import PATIENCE, HandClock, alive, until

MANY = [f"text {number}" for number in range(3 * FEW_TEXTS)]
PATIENT = Patience(loading=PATIENCE)


async def loaded(embedder: WorkerEmbedder) -> int:
    """The process, once its model is loaded."""
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))
    assert embedder.pid is not None
    return embedder.pid


def gone(pid: int) -> bool:
    """Not even a zombie is left."""
    return not Path(f"/proc/{pid}").exists()


async def test_rows_have_length_one_and_blank_texts_are_nothing(make: Make) -> None:
    embedder = make(patience=PATIENT)
    texts = ["tea", " ", "грüße 🙂", "", "tea"]
    rows = await embedder.embed(texts)
    assert rows.dtype == np.float32 and not rows[[1, 3]].any()
    assert np.allclose(rows[[0, 2, 4]], expected(["tea", "грüße 🙂", "tea"]), atol=1e-7)
    assert (await embedder.embed(["", " "])).tolist() == [[0.0] * WIDTH] * 2
    assert len(await embedder.embed([])) == 0


async def test_half_a_surrogate_pair_is_no_fault(make: Make) -> None:
    rows = await make(patience=PATIENT).embed(["a \ud83d b"])
    assert np.allclose(rows, expected(["a � b"]), atol=1e-7)


async def test_nothing_runs_before_the_first_call(make: Make) -> None:
    embedder = make()
    assert embedder.pid is None
    pid = await loaded(embedder)
    assert alive(pid) and pid == await loaded(embedder)


async def test_a_message_does_not_wait_for_a_model_to_load_and_bulk_does(make: Make, pipe: Path) -> None:
    embedder = make("load_later", str(pipe))
    with pytest.raises(EmbedderFailed, match=f"{pipe} is still loading"):
        await embedder.embed(["hi"] * FEW_TEXTS)
    bulk = asyncio.create_task(embedder.embed(MANY))
    with pytest.raises(EmbedderFailed, match="still loading"):
        await embedder.embed(["hi"])
    await let_go(pipe)
    assert np.array_equal(await bulk, expected(MANY))
    assert np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_a_message_waits_for_as_long_as_it_may(make: Make, pipe: Path) -> None:
    waiting = asyncio.create_task(make("load_later", str(pipe), PATIENT).embed(["hi"]))
    await let_go(pipe)
    assert np.array_equal(await waiting, expected(["hi"]))


async def test_a_start_goes_on_when_who_asked_for_it_is_cancelled(make: Make, pipe: Path) -> None:
    embedder = make("load_later", str(pipe))
    waiting = asyncio.create_task(embedder.embed(MANY))
    await asyncio.sleep(0)
    opened = asyncio.create_task(let_go(pipe))
    waiting.cancel()
    await opened
    await until(lambda: embedder.pid is not None)
    assert np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_killed_in_mid_call_it_fails_that_call_alone(make: Make, pipe: Path) -> None:
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


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
async def test_killed_at_any_instant_it_answers_or_fails_once(make: Make, turns: int) -> None:
    embedder = make()
    pid = await loaded(embedder)
    running = asyncio.create_task(embedder.embed(MANY * 4))
    for _ in range(turns):
        await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    try:
        assert np.array_equal(await running, expected(MANY * 4))
    except EmbedderFailed as failure:
        assert "was killed" in str(failure)
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))
    await until(lambda: gone(pid))


async def test_killed_between_two_calls_it_is_started_again_at_once(make: Make) -> None:
    embedder = make()
    for _ in range(3):
        pid = await loaded(embedder)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: embedder.pid not in (None, pid))  # noqa: B023 - it is over before the next round
        assert gone(pid) and np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_killed_again_before_it_has_answered_it_is_left_alone_until_a_call(make: Make, clock: HandClock) -> None:
    embedder = make(patience=Patience(again=10.0, loading=PATIENCE))
    first = await loaded(embedder)
    os.kill(first, signal.SIGKILL)
    await until(lambda: embedder.pid not in (None, first))
    second = embedder.pid
    assert second is not None
    os.kill(second, signal.SIGKILL)
    await until(lambda: embedder.pid is None and gone(second))
    with pytest.raises(EmbedderFailed, match=r"was killed.*; it is tried again in 10 s"):
        await embedder.embed(["hi"])
    clock.now += 10
    assert np.array_equal(await embedder.embed(["hi"]), expected(["hi"]))


async def test_a_message_hears_that_a_model_loads_before_it_waits_no_longer(make: Make, pipe: Path) -> None:
    embedder = make("load_later", str(pipe))
    assert Patience().loading < PATIENCE_SECONDS
    with pytest.raises(EmbedderFailed, match="still loading"):
        await embedder.embed(["hi"])


async def test_a_process_that_hangs_is_ended_and_another_answers(make: Make) -> None:
    embedder = make(answer_seconds=0.3)
    pid = await loaded(embedder)
    with pytest.raises(EmbedderFailed, match=r"no answer within 0\.3 s"):
        await embedder.embed(["hang"])
    assert gone(pid)
    await loaded(embedder)


async def test_a_hang_is_seen_though_nobody_waits_any_more(make: Make) -> None:
    embedder = make(answer_seconds=0.3)
    pid = await loaded(embedder)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await embedder.embed(["hang"])
    await until(lambda: gone(pid))
    await loaded(embedder)


async def test_who_is_asked_nothing_does_not_hang(make: Make) -> None:
    quiet, hanging = make(answer_seconds=0.1), make(answer_seconds=0.5)
    pid = await loaded(quiet)
    await loaded(hanging)
    with pytest.raises(EmbedderFailed, match="no answer within"):
        await hanging.embed(["hang"])
    assert quiet.pid == pid and alive(pid)


async def test_the_late_answer_of_a_cancelled_call_goes_to_nobody(make: Make, pipe: Path) -> None:
    embedder = make()
    pid = await loaded(embedder)
    early = asyncio.create_task(embedder.embed([f"wait {pipe}", "early"]))
    await asyncio.sleep(0)
    late = asyncio.create_task(embedder.embed(["late", "too"]))
    await asyncio.sleep(0)
    early.cancel()
    await asyncio.wait([early])
    assert early.cancelled()
    await let_go(pipe)
    assert np.array_equal(await late, expected(["late", "too"]))
    assert embedder.pid == pid


async def test_a_message_waits_for_one_batch_of_bulk_and_not_for_all(make: Make, pipe: Path) -> None:
    embedder = make()
    await loaded(embedder)
    bulk = asyncio.create_task(embedder.embed([f"wait {pipe}", *MANY]))
    await asyncio.sleep(0)
    message = asyncio.create_task(embedder.embed(["hi"]))
    finished: list[asyncio.Task[Floats]] = []
    for each in (bulk, message):
        each.add_done_callback(finished.append)
    await let_go(pipe)
    assert np.array_equal((await bulk)[1:], expected(MANY))
    assert finished == [message, bulk]


async def test_an_idle_process_ends_and_only_the_next_call_starts_another(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    embedder, others = make(patience=Patience(idle=0.0)), (make(), make())
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))
    await until(lambda: embedder.pid is None)
    for other in others:
        await loaded(other)
    assert caplog.text.count(" is loaded, process ") == 3, "nobody loaded it again meanwhile"
    assert np.array_equal(await embedder.embed(MANY), expected(MANY))


async def test_a_process_that_works_is_not_idle(make: Make, pipe: Path) -> None:
    embedder = make(patience=Patience(idle=0.0))
    running = asyncio.create_task(embedder.embed([f"wait {pipe}", *MANY]))
    await let_go(pipe)
    assert np.array_equal((await running)[1:], expected(MANY))


async def test_a_call_that_began_in_time_is_answered_after_it(make: Make, pipe: Path) -> None:
    embedder, hanging = make(patience=Patience(idle=0.2)), make(answer_seconds=0.6)
    await loaded(hanging)
    await loaded(embedder)
    running = asyncio.create_task(embedder.embed([f"wait {pipe}", *MANY]))
    with pytest.raises(EmbedderFailed, match="no answer within"):
        await hanging.embed(["hang"])
    await let_go(pipe)
    assert np.array_equal((await running)[1:], expected(MANY))


@pytest.mark.parametrize("said", ["hang", "hi"])
async def test_close_ends_a_process_busy_or_not(make: Make, said: str) -> None:
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
async def test_close_ends_a_process_that_still_loads(make: Make, pipe: Path, turns: int) -> None:
    embedder = make("load_later", str(pipe))
    waiting = asyncio.create_task(embedder.embed(MANY))
    for _ in range(turns):
        await asyncio.sleep(0)
    await embedder.close()
    with pytest.raises(EmbedderFailed, match="the program is ending"):
        await waiting


async def test_a_library_may_print_what_it_likes(make: Make) -> None:
    rows = await make(patience=PATIENT).embed(["noise", "tea"])
    assert np.array_equal(rows, expected(["noise", "tea"]))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise", "double: this text is too much"),
        ("nan", "double: its process sent a vector with something else than numbers"),
        ("fewer", "double: its process sent 1 vectors for 2 texts"),
    ],
)
async def test_a_text_that_is_too_much_leaves_the_process_alive(make: Make, text: str, reason: str) -> None:
    embedder = make()
    pid = await loaded(embedder)
    with pytest.raises(EmbedderFailed) as failed:
        await embedder.embed([text, "tea"])
    assert str(failed.value) == reason
    assert await loaded(embedder) == pid


async def test_rows_of_two_widths_are_refused(make: Make) -> None:
    with pytest.raises(EmbedderFailed, match="its process sent"):
        await make().embed([*MANY, "wide"])


async def test_what_is_no_message_is_said(clock: HandClock) -> None:
    launch = Launch("m", interpreter=("sh", "-c", "echo 'Welcome to the shell of this machine'; cat"))
    embedder = WorkerEmbedder("worker:m", launch, clock)
    with pytest.raises(EmbedderFailed, match="m: its process said something else than vectors"):
        await embedder.embed(MANY)
    await embedder.close()


async def failure(embedder: WorkerEmbedder) -> str:
    with pytest.raises(EmbedderFailed) as failed:
        await embedder.embed(MANY)
    assert embedder.pid is None
    return str(failed.value)


async def test_why_a_process_did_not_come_up(make: Make, clock: HandClock, tmp_path: Path) -> None:
    assert await failure(make("load_badly", str(tmp_path / "x"))) == f"{tmp_path / 'x'}: the weights are torn"
    ended = await failure(make("load_and_die"))
    assert ended == "double: its process ended with exit code 9: the disk is on fire"
    assert "can't be started" in await failure(make(interpreter=("/nowhere/python",)))
    assert "no_such_loader" in await failure(make("no_such_loader"))
    killed = await failure(make(interpreter=("sh", "-c", "kill -KILL $$")))
    assert killed == "double: its process was killed, which is mostly for want of memory"


async def test_without_the_package_the_mend_is_said(clock: HandClock) -> None:
    launch = Launch("all-MiniLM-L6-v2", interpreter=(sys.executable, "-S"))
    said = await failure(WorkerEmbedder("w", launch, clock))
    assert said == (
        "all-MiniLM-L6-v2: sentence-transformers is not installed: pip install 'tierbot[sentence-transformers]'"
    )


async def test_a_model_that_does_not_come_is_given_up(make: Make, pipe: Path) -> None:
    embedder = make("load_later", str(pipe), load_seconds=0.5)
    with pytest.raises(EmbedderFailed, match=r"was not loaded within 0\.5 s"):
        await embedder.embed(MANY)


async def test_what_fails_again_and_again_is_left_alone_ever_longer(
    make: Make, clock: HandClock, tmp_path: Path
) -> None:
    counted = tmp_path / "starts"
    embedder = make("load_badly", str(counted), Patience(again=10.0, longest=35.0))
    for starts, wait in ((1, 10), (2, 20), (3, 35), (4, 35)):
        assert (await failure(embedder)).endswith("the weights are torn")
        assert (await failure(embedder)).endswith(f"the weights are torn; it is tried again in {wait} s")
        clock.now += wait - 1
        assert (await failure(embedder)).endswith("it is tried again in 1 s")
        assert counted.read_text("utf-8") == "x" * starts
        clock.now += 1


async def test_a_process_that_never_answers_is_left_alone_and_one_answer_forgives_all(
    make: Make, clock: HandClock
) -> None:
    embedder = make(patience=Patience(again=10.0, loading=PATIENCE))
    for _ in range(2):
        with pytest.raises(EmbedderFailed, match="exit code 7"):
            await embedder.embed(["die"])
    with pytest.raises(EmbedderFailed, match=r"exit code 7.*; it is tried again in 10 s"):
        await embedder.embed(["tea"])
    clock.now += 10
    for _ in range(3):
        assert np.array_equal(await embedder.embed(["tea"]), expected(["tea"]))
        with pytest.raises(EmbedderFailed, match="exit code 7"):
            await embedder.embed(["die"])
