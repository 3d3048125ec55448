"""One answer of a model: retries, partial answers, and stopping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

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
from routing.llm.attempt import CallOptions, ModelCaller
from routing.types.llm import (
    CallDelta,
    ChatMessage,
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
async def test_no_events_are_an_empty_answer(finish: str) -> None:
    silent: list[Step] = [ThinkingDelta(), TextDelta("  \n"), StreamEnd(finish, None)]  # type: ignore[arg-type]
    with pytest.raises(EmptyAnswer):
        await running(FakeLlm(silent)).complete(asked(), call_options(), Seen(), Stop())


@pytest.mark.parametrize("finish", ["length", "policy"])
async def test_an_answer_without_text_but_with_a_finish_reason_is_not_empty(finish: str) -> None:
    llm = FakeLlm([StreamEnd(finish, None)])  # type: ignore[arg-type]
    assert (await running(llm).complete(asked(), call_options(), Seen(), Stop())).finish == finish


async def test_text_before_an_error_is_kept_as_cut_off() -> None:
    llm = FakeLlm([TextDelta("half an "), Unreachable("m", "gone")])
    completion = await running(llm).complete(asked(), call_options(), Seen(), Stop())
    assert (completion.text, completion.finish, llm.made) == ("half an ", "cut", 1)


async def test_a_stream_without_an_end_is_cut_off() -> None:
    assert (
        await running(FakeLlm([TextDelta("half")])).complete(asked(), call_options(), Seen(), Stop())
    ).finish == "cut"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (call_options(first=0.01), "no first words within 0.01 s"),
        (call_options(whole=0.01), "no first words within 0.01 s"),
    ],
    ids=["first token", "whole"],
)
async def test_a_model_without_a_token_in_time_is_too_slow(options: CallOptions, said: str) -> None:
    with pytest.raises(TooSlow, match=said):
        await running(FakeLlm([asyncio.Event()])).complete(asked(), options, Seen(), Stop())


async def test_the_providers_timeout_counts_too() -> None:
    with pytest.raises(Unreachable, match=r"within 0\.01 s"):
        await running(FakeLlm([asyncio.Event()])).complete(asked(0.01), call_options(), Seen(), Stop())


@pytest.mark.parametrize("sign", [ThinkingDelta(), CallDelta(), TextDelta(" ")], ids=lambda sign: type(sign).__name__)
async def test_any_event_ends_the_wait_for_the_first_token(sign: StreamEvent) -> None:
    never = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, never.set)
    llm = FakeLlm([sign, never, TextDelta("there"), END])
    done = await running(llm).complete(asked(), call_options(first=0.02), Seen(), Stop())
    assert done.text.strip() == "there"
    assert done.first_token is not None


async def test_endless_thinking_is_a_model_failure() -> None:
    with pytest.raises(Unreachable, match=r"no complete answer within 0\.01 s"):
        await running(FakeLlm([ThinkingDelta(), asyncio.Event()])).complete(
            asked(), call_options(first=5.0, whole=0.01), Seen(), Stop()
        )


async def test_text_before_the_deadline_is_kept() -> None:
    half: list[Step] = [TextDelta("half"), asyncio.Event()]
    for options in (call_options(whole=0.01), call_options(seconds=0.01, clock=time.time)):
        kept = await running(FakeLlm(half)).complete(asked(), options, Seen(), Stop())
        assert (kept.text, kept.finish) == ("half", "late")


async def test_the_turn_deadline_is_not_a_model_failure() -> None:
    caller = running(FakeLlm([asyncio.Event()]))
    late = await caller.complete(asked(), call_options(seconds=0.01, clock=time.time), Seen(), Stop())
    assert (late.text, late.finish) == ("", "late")


async def test_latency_is_recorded() -> None:
    health = ModelHealth(time.time)
    done = await ModelCaller(FakeLlm(says("hi")), health, time.time).complete(asked(), call_options(), Seen(), Stop())
    (took,) = health.latencies.keep()["openai/m", "balanced"].seconds
    assert 0.0 <= took <= done.seconds


async def test_an_answer_that_never_came_was_too_slow() -> None:
    health = ModelHealth(time.time)
    silent = ModelCaller(FakeLlm([asyncio.Event()]), health, time.time)
    with pytest.raises(Unreachable):
        await silent.complete(asked(), call_options(first=0.01), Seen(), Stop())
    (took,) = health.latencies.keep()["openai/m", "balanced"].seconds
    assert took >= P99_SHARE * DEFAULT_CONTRACTS["balanced"].deadline_seconds


async def test_answers_cut_by_the_deadline_record_no_latency() -> None:
    health = ModelHealth(time.time)
    await ModelCaller(FakeLlm([asyncio.Event()]), health, time.time).complete(
        asked(), call_options(0.01), Seen(), Stop()
    )
    assert health.latencies.keep() == {}


async def test_stop_keeps_the_text() -> None:
    stop = Stop()
    llm = FakeLlm([TextDelta("half"), asyncio.Event(), TextDelta("never"), END])
    completion = await running(llm).complete(asked(), call_options(), Seen(stop.request), stop)
    assert (completion.text, completion.finish) == ("half", "stopped")
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


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
    assert (await asyncio.wait_for(work, 10)).finish == "stopped"


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
    await asyncio.wait_for(begun.wait(), 10)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
