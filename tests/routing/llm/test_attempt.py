"""One answer of a model: retries, partial answers, and stopping."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest

from routing.config.contracts import DEFAULT_CONTRACTS
from routing.errors import (
    EmptyAnswer,
    KeyRejected,
    ModelError,
    PolicyRefused,
    RateLimited,
    TooSlow,
    Unreachable,
)
from routing.health.health import ModelHealth
from routing.health.latency import P99_SHARE
from routing.llm.attempt import ModelCaller
from routing.types.llm import (
    CallDelta,
    ChatMessage,
    Completion,
    Finish,
    ModelRequest,
    ProviderProfile,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from routing.types.stop import Stop
from tests.fakes import END, FakeLlm, Seen, Step, says
from tests.polling import until
from tests.routing.simulated_time import elapsed, run_instantly
from tests.routing.turn.samples import call_options


def asked(seconds: float = 30.0) -> ModelRequest:
    profile = ProviderProfile("openai", "openai", None, "k", seconds, "OPENAI_API_KEY")
    return ModelRequest("balanced", "openai/m", (ChatMessage("user", "hi"),), profile, None, None)


def running(llm: FakeLlm) -> ModelCaller:
    ticks = iter(range(1000))

    def clock() -> float:
        return float(next(ticks))

    return ModelCaller(llm, ModelHealth(clock), clock)


async def test_text_is_streamed_and_usage_comes_last() -> None:
    seen = Seen()
    llm = FakeLlm([TextDelta("Hel"), ThinkingDelta(), TextDelta("lo"), END])
    completion = await running(llm).complete(asked(), call_options(), seen, Stop())
    assert (completion.text, completion.finish, completion.usage) == ("Hello", "stop", Usage(1, 2))
    assert completion.seconds > 0
    assert completion.first_token is not None
    assert seen.texts == ["Hel", "Hello"]


@pytest.mark.parametrize(
    "error",
    [Unreachable("m", "x"), RateLimited("m", "x", 0.0), KeyRejected("m", "x"), PolicyRefused("m", "x")],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_before_the_first_token_is_raised(error: ModelError) -> None:
    llm = FakeLlm([error], [TextDelta("never"), END])
    with pytest.raises(type(error)):
        await running(llm).complete(asked(), call_options(), Seen(), Stop())
    assert llm.made == 1


@pytest.mark.parametrize("finish", ["stop", "cut"])
async def test_no_events_are_an_empty_answer(finish: Finish) -> None:
    silent: list[Step] = [ThinkingDelta(), TextDelta("  \n"), StreamEnd(finish, None)]
    with pytest.raises(EmptyAnswer):
        await running(FakeLlm(silent)).complete(asked(), call_options(), Seen(), Stop())


@pytest.mark.parametrize("finish", ["length", "policy"])
async def test_an_answer_without_text_but_with_a_finish_reason_is_not_empty(finish: Finish) -> None:
    llm = FakeLlm([StreamEnd(finish, None)])
    assert (await running(llm).complete(asked(), call_options(), Seen(), Stop())).finish == finish


async def test_text_before_an_error_is_kept_as_cut_off() -> None:
    llm = FakeLlm([TextDelta("half an "), Unreachable("m", "gone")])
    completion = await running(llm).complete(asked(), call_options(), Seen(), Stop())
    assert (completion.text, completion.finish, llm.made) == ("half an ", "cut", 1)


async def test_a_stream_without_an_end_is_cut_off() -> None:
    assert (
        await running(FakeLlm([TextDelta("half")])).complete(asked(), call_options(), Seen(), Stop())
    ).finish == "cut"


def complete(
    llm: FakeLlm, seconds: float = math.inf, first: float = math.inf, whole: float = math.inf, timeout: float = 60.0
) -> Completion:
    """The completion in simulated time. The limits are those of the turn, the first token, the attempt, and the
    provider."""

    async def story() -> Completion:
        options = call_options(seconds, first, whole, clock=elapsed)
        return await running(llm).complete(asked(timeout), options, Seen(), Stop())

    return run_instantly(story())


@pytest.mark.parametrize("limit", ["first", "whole", "timeout"])
def test_a_model_without_a_token_in_time_is_too_slow(limit: str) -> None:
    with pytest.raises(TooSlow, match="no first words within 3 s"):
        complete(FakeLlm([asyncio.Event()]), **{limit: 3.0})


@pytest.mark.parametrize("sign", [ThinkingDelta(), CallDelta(), TextDelta(" ")], ids=lambda sign: type(sign).__name__)
def test_any_event_ends_the_wait_for_the_first_token(sign: StreamEvent) -> None:
    class Pausing(FakeLlm):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
            yield sign
            await asyncio.sleep(10.0)
            yield TextDelta("there")
            yield END

    done = complete(Pausing(), first=3.0)
    assert done.text.strip() == "there"
    assert done.first_token is not None


def test_endless_thinking_is_a_model_failure() -> None:
    with pytest.raises(Unreachable, match="no complete answer within 6 s"):
        complete(FakeLlm([ThinkingDelta(), asyncio.Event()]), first=3.0, whole=6.0)


@pytest.mark.parametrize("limit", ["seconds", "whole"])
def test_text_before_the_deadline_is_kept(limit: str) -> None:
    kept = complete(FakeLlm([TextDelta("half"), asyncio.Event()]), **{limit: 3.0})
    assert (kept.text, kept.finish) == ("half", "late")


def test_the_turn_deadline_is_not_a_model_failure() -> None:
    late = complete(FakeLlm([asyncio.Event()]), seconds=3.0)
    assert (late.text, late.finish) == ("", "late")


async def test_latency_is_recorded() -> None:
    health = ModelHealth(time.time)
    done = await ModelCaller(FakeLlm(says("hi")), health, time.time).complete(asked(), call_options(), Seen(), Stop())
    (took,) = health.latencies.keep()["openai/m", "balanced"].seconds
    assert 0.0 <= took <= done.seconds


def latencies(**limits: Any) -> list[float]:
    """What is recorded of a model that is silent, in simulated time."""

    async def story() -> list[float]:
        health = ModelHealth(elapsed)
        silent, options = FakeLlm([asyncio.Event()]), call_options(clock=elapsed, **limits)
        with suppress(TooSlow):
            await ModelCaller(silent, health, elapsed).complete(asked(), options, Seen(), Stop())
        return [took for kept in health.latencies.keep().values() for took in kept.seconds]

    return run_instantly(story())


def test_an_answer_that_never_came_was_too_slow() -> None:
    (took,) = latencies(first=3.0)
    assert took >= P99_SHARE * DEFAULT_CONTRACTS["balanced"].deadline_seconds


def test_answers_cut_by_the_deadline_record_no_latency() -> None:
    assert latencies(seconds=3.0) == []


async def test_stop_keeps_the_text() -> None:
    stop = Stop()
    llm = FakeLlm([TextDelta("half"), asyncio.Event(), TextDelta("never"), END])
    completion = await running(llm).complete(asked(), call_options(), Seen(stop.request), stop)
    assert (completion.text, completion.finish) == ("half", "stopped")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_stop_before_the_first_token_and_before_the_call() -> None:
    early = Stop()
    early.request()
    llm = FakeLlm([TextDelta("never"), END])
    completion = await running(llm).complete(asked(), call_options(), Seen(), early)
    assert (completion.text, completion.finish, llm.made) == ("", "stopped", 0)

    stop, waiting = Stop(), asyncio.Event()
    work = asyncio.create_task(running(FakeLlm([waiting, END])).complete(asked(), call_options(), Seen(), stop))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stop.request()
    assert (await asyncio.wait_for(work, 60)).finish == "stopped"


class Slow(Seen):
    """A platform that does not answer."""

    async def working(self) -> None:
        await asyncio.Event().wait()


class Closing(FakeLlm):
    """Thinks, and takes a moment to close its connection."""

    thinking = False
    closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        try:
            self.thinking = True
            yield ThinkingDelta()
        finally:
            await asyncio.sleep(0)
            self.closed = True


async def test_a_stop_between_two_events_closes_the_stream() -> None:
    stop, llm = Stop(), Closing()
    work = asyncio.create_task(running(llm).complete(asked(), call_options(), Slow(), stop))
    await until(lambda: llm.thinking)
    stop.request()
    assert (await work).finish == "stopped"
    assert llm.closed


async def test_cancellation_is_not_a_stop() -> None:
    begun = asyncio.Event()
    llm = FakeLlm([TextDelta("half"), asyncio.Event()])
    work = asyncio.create_task(running(llm).complete(asked(), call_options(), Seen(begun.set), Stop()))
    await asyncio.wait_for(begun.wait(), 60)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
