"""A council's calls to real models: effort, time limits, usage records, and who can be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.contracts import ALLOWANCE
from routing.config.runtime import read_config
from routing.council.calling import BROKEN, ModelCalls
from routing.council.seats import Seat
from routing.errors import KeyRejected, ModelError, RateLimited
from routing.health.health import ModelHealth
from routing.llm.attempt import ModelCaller
from routing.policy.models import Models
from routing.types.decisions import SkippedModel
from routing.types.llm import ChatMessage, Finish, StreamEnd, TextDelta, Usage
from tests.fakes import END, FakeLlm, Step, says
from tests.routing.council.members import BEGAN
from tests.routing.simulated_time import elapsed, run_instantly
from tests.routing.turn.samples import turn_cost

GPT = Seat("openai/gpt-5.2", "openai", "deep")
MINI = Seat("openai/gpt-4.1", "openai", "balanced")
ASKED = (ChatMessage("user", "Is it so?"),)
KEYS = {"openai": "sk-1", "anthropic": "sk-2"}


def now() -> float:
    return BEGAN + elapsed()


def models(clock: Callable[[], float] = now) -> Models:
    config = read_config(jsonfile.parse("{}", "runtime-config.json"), KEYS, {})
    return Models(config, Catalog.load(BUNDLED), health=ModelHealth(clock), clock=clock)


def calling(llm: FakeLlm) -> ModelCalls:
    known = models()
    return ModelCalls(known, ModelCaller(llm, known.health, now), now, turn_cost())


def called(seat: Seat, steps: list[Step], seconds: float = 60.0) -> tuple[str | Exception, ModelCalls, FakeLlm, float]:
    """The result of one call, and its duration."""

    async def story() -> tuple[str | Exception, ModelCalls, FakeLlm, float]:
        llm = FakeLlm(steps)
        calls = calling(llm)
        try:
            said: str | Exception = await calls(seat.model, seat.tier, ASKED, seconds)
        except (ModelError, TimeoutError) as error:
            said = error
        return said, calls, llm, elapsed()

    return run_instantly(story())


def test_answers_use_low_effort_and_are_recorded_under_their_tier() -> None:
    said, calls, llm, _ = called(GPT, says("yes "))
    assert said == "yes"
    [request] = llm.asked
    assert (request.model, request.reasoning, request.tools, request.messages) == (GPT.model, "low", (), ASKED)
    assert [(each.tier, each.model, each.usage) for each in calls.paid_calls] == [("deep", GPT.model, Usage(1, 2))]


def test_output_is_limited_to_the_estimate() -> None:
    [deep], [balanced] = called(GPT, says("yes"))[2].asked, called(MINI, says("yes"))[2].asked
    assert deep.max_output == 4_000 + ALLOWANCE["low"]
    assert (balanced.max_output or 0) <= 4_000


def test_a_model_without_low_effort_uses_its_default() -> None:
    assert called(MINI, says("yes"))[2].asked[0].reasoning is None


def test_a_council_timeout_is_not_a_model_failure() -> None:
    said, calls, _, took = called(GPT, [asyncio.Event()])
    assert isinstance(said, TimeoutError)
    assert took == 60.0
    assert [each.usage for each in calls.paid_calls] == [None]


def test_councils_have_their_own_time_limits() -> None:
    said, _, _, took = called(MINI, [asyncio.Event()])
    assert isinstance(said, TimeoutError)
    assert took == 60.0, "balanced promises its first word within 25 s"
    said, _, _, took = called(MINI, [TextDelta("ha"), asyncio.Event()])
    assert isinstance(said, TimeoutError)
    assert took == 60.0, "and a try of 45 s"


@pytest.mark.parametrize("finish", ["length", "cut"])
def test_a_partial_answer_is_marked(finish: Finish) -> None:
    end = StreamEnd(finish, Usage(1, 2))
    assert called(GPT, [TextDelta("half"), end])[0] == "half" + BROKEN


def test_errors_are_raised() -> None:
    said, calls, _, _ = called(GPT, [KeyRejected(GPT.model, "no")])
    assert isinstance(said, KeyRejected)
    assert calls.paid_calls == []


def test_calls_can_be_cancelled_at_any_time() -> None:
    async def story() -> None:
        calls = calling(FakeLlm([TextDelta("ha"), asyncio.Event(), END]))
        task = asyncio.create_task(calls(GPT.model, GPT.tier, ASKED, 60.0))
        await asyncio.sleep(1.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [each.usage for each in calls.paid_calls] == [None]

    run_instantly(story())


def test_unavailable_members_and_reasons() -> None:
    now = BEGAN
    known = models(lambda: now)
    key = known.config.profile("anthropic")
    assert known.obstacle("gemini/gemini-2.5-pro", "deep") == SkippedModel("gemini/gemini-2.5-pro", "key")
    assert known.obstacle(GPT.model, "deep") is None
    known.health.record_failure(RateLimited(GPT.model, "busy", 30.0))
    assert known.obstacle(GPT.model, "deep") == SkippedModel(GPT.model, "cooldown", BEGAN + 30.0)

    async def refused() -> None:
        trial = await known.health.begin("anthropic/claude", key, False)
        assert trial is not None
        with trial:
            raise KeyRejected("anthropic/claude", "no such key")

    with pytest.raises(KeyRejected):
        run_instantly(refused())
    found = known.obstacle("anthropic/claude", "deep")
    assert found == SkippedModel("anthropic/claude", "breaker", BEGAN + 60.0, "no such key")
    now += 60.0
    assert known.obstacle("anthropic/claude", "deep") is None
