"""One answer of a model: what is tried again, what is kept, how it is stopped."""

from __future__ import annotations

import asyncio

import pytest

from routing.caller import Caller
from routing.calls import ChatMessage, ModelRequest, ProviderProfile, StreamEnd, TextDelta, ThinkingDelta, Usage
from routing.diagnostics import Failures
from routing.errors import (
    BadModelRequest,
    EmptyAnswer,
    KeyRejected,
    ModelError,
    PolicyRefused,
    RateLimited,
    Unreachable,
)
from routing.stop import Stop
from tests.fakes import END, FakeLlm, Seen, Step

pytestmark = pytest.mark.usefixtures("no_pause")


def asked(seconds: float = 30.0) -> ModelRequest:
    profile = ProviderProfile("openai", "openai", None, "k", seconds, "OPENAI_API_KEY")
    return ModelRequest("balanced", "openai/m", (ChatMessage("user", "hi"),), profile, None, None)


def running(llm: FakeLlm) -> Caller:
    ticks = iter(range(1000))
    return Caller(llm, Failures(), lambda: float(next(ticks)))


async def test_the_text_grows_and_the_end_brings_the_count() -> None:
    seen = Seen()
    llm = FakeLlm([TextDelta("Hel"), ThinkingDelta(), TextDelta("lo"), END])
    completion = await running(llm).complete(asked(), seen, Stop())
    assert (completion.text, completion.finish, completion.usage) == ("Hello", "stop", Usage(1, 2))
    assert completion.seconds == 1.0 and seen.texts == ["Hel", "Hello"]


@pytest.mark.parametrize(
    "error",
    [Unreachable("m", "x"), RateLimited("m", "x", 0.0), EmptyAnswer("m", "x")],
    ids=lambda error: type(error).__name__,
)
async def test_a_passing_fault_before_the_first_word_is_tried_once_more(error: ModelError) -> None:
    llm = FakeLlm([error], [TextDelta("there"), END])
    assert (await running(llm).complete(asked(), Seen(), Stop())).text == "there"
    twice = FakeLlm([error], [error], [TextDelta("never"), END])
    with pytest.raises(type(error)):
        await running(twice).complete(asked(), Seen(), Stop())
    assert twice.made == 2


@pytest.mark.parametrize(
    "error",
    [
        KeyRejected("m", "x"),
        PolicyRefused("m", "x"),
        BadModelRequest("m", "x"),
        RateLimited("m", "x"),
        RateLimited("m", "x", 3.5),
    ],
    ids=lambda error: f"{type(error).__name__} {error.retry_after}",
)
async def test_what_will_not_pass_is_not_tried_again(error: ModelError) -> None:
    llm = FakeLlm([error], [TextDelta("never"), END])
    with pytest.raises(type(error)):
        await running(llm).complete(asked(), Seen(), Stop())
    assert llm.made == 1


@pytest.mark.parametrize("finish", ["stop", "cut"])
async def test_nothing_at_all_is_empty_and_tried_once_more(finish: str) -> None:
    silent: list[Step] = [ThinkingDelta(), TextDelta("  \n"), StreamEnd(finish, None)]  # type: ignore[arg-type]
    with pytest.raises(EmptyAnswer):
        await running(FakeLlm(silent, silent)).complete(asked(), Seen(), Stop())
    assert (await running(FakeLlm(silent, [TextDelta("ok"), END])).complete(asked(), Seen(), Stop())).text == "ok"


@pytest.mark.parametrize("finish", ["length", "policy"])
async def test_an_answer_without_words_that_was_ended_for_a_reason_is_not_empty(finish: str) -> None:
    llm = FakeLlm([StreamEnd(finish, None)])  # type: ignore[arg-type]
    assert (await running(llm).complete(asked(), Seen(), Stop())).finish == finish


async def test_what_arrived_before_a_fault_is_kept_as_cut() -> None:
    llm = FakeLlm([TextDelta("half an "), Unreachable("m", "gone")])
    completion = await running(llm).complete(asked(), Seen(), Stop())
    assert (completion.text, completion.finish, llm.made) == ("half an ", "cut", 1)


async def test_a_stream_without_an_end_is_cut() -> None:
    assert (await running(FakeLlm([TextDelta("half")])).complete(asked(), Seen(), Stop())).finish == "cut"


async def test_time_runs_out_with_and_without_words() -> None:
    never = asyncio.Event()
    silent = FakeLlm([never], [never])
    with pytest.raises(Unreachable, match=r"no answer within 0\.01 s"):
        await running(silent).complete(asked(0.01), Seen(), Stop())
    assert silent.made == 1, "one deadline over all tries"
    kept = await running(FakeLlm([TextDelta("half"), never])).complete(asked(0.01), Seen(), Stop())
    assert (kept.text, kept.finish) == ("half", "late")


async def test_stop_keeps_what_was_said() -> None:
    stop = Stop()
    llm = FakeLlm([TextDelta("half"), asyncio.Event(), TextDelta("never"), END])
    completion = await running(llm).complete(asked(), Seen(stop.request), stop)
    assert (completion.text, completion.finish) == ("half", "stopped")
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def test_stop_before_the_first_word_and_before_the_call() -> None:
    early = Stop()
    early.request()
    llm = FakeLlm([TextDelta("never"), END])
    completion = await running(llm).complete(asked(), Seen(), early)
    assert (completion.text, completion.finish, llm.made) == ("", "stopped", 0)

    stop, waiting = Stop(), asyncio.Event()
    work = asyncio.create_task(running(FakeLlm([waiting, END])).complete(asked(), Seen(), stop))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stop.request()
    assert (await asyncio.wait_for(work, 10)).finish == "stopped"


async def test_the_programs_own_end_is_no_stop() -> None:
    begun = asyncio.Event()
    llm = FakeLlm([TextDelta("half"), asyncio.Event()])
    work = asyncio.create_task(running(llm).complete(asked(), Seen(begun.set), Stop()))
    await asyncio.wait_for(begun.wait(), 10)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
