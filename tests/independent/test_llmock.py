"""llmock's verdict on our client: no retry storm, no ignored Retry-After, no retry of permanent errors, no truncated
stream accepted as an answer. A careless client, which does all of this, proves that llmock detects it.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import replace

import httpx
import pytest

from routing.errors import ModelError
from routing.health.health import ModelHealth
from routing.llm.adapter import LiteLlm
from routing.llm.attempt import ModelCaller
from routing.turn.loop import TurnLoop
from routing.turn.state import CallPlan, TurnInput, TurnState
from routing.types.deadline import Deadline
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import ApiType, ChatMessage, Completion, ModelRequest, ProviderProfile
from routing.types.people import Person
from routing.types.stop import Stop
from routing.types.tools import ToolScope
from routing.types.turns import PromptFit
from tests.fakes import FakeToolbox, Seen
from tests.independent.conversation import KINDS, STATIONS
from tests.independent.llmock import DOWN, HOUR, SILENT, Behaviour, Llmock, Verdict, cut
from tests.routing.turn.samples import NOT_READ, call_options, turn_state


def named(fault: Behaviour) -> str:
    return f"{fault.get('status') or fault['kind']} {fault.get('retry_after', '')}"


@pytest.fixture(params=KINDS)
def asked(request: pytest.FixtureRequest, judge: Llmock) -> ModelRequest:
    """A question in each wire format."""
    kind: ApiType = request.param
    model = next(station.model for station in STATIONS if station.kind == kind)
    where = ProviderProfile(kind, kind, judge.base(kind), "sk-mine", 30.0, "X")
    messages = (ChatMessage("user", "count to four, please"),)
    return ModelRequest("balanced", model, messages, where, None, None)


@pytest.fixture
def caller(llm: LiteLlm) -> ModelCaller:
    """The caller as the bot builds it."""
    return ModelCaller(llm, ModelHealth(time.time), time.time)


async def complete(caller: ModelCaller, asked: ModelRequest) -> Completion | ModelError:
    """Call the model as a turn does that has no other candidate."""
    decision, given = TierDecision("balanced", "default", "default"), call_options()
    scope = ToolScope(Person(1, "user", "Ann"), 1, decision)
    choice, fit = ModelChoice(asked.model, None, "configured"), PromptFit(10, 1_000_000, 0)
    plan = CallPlan(decision, given.contract, choice, asked, scope, fit, 1_000_000)

    async def planned(turn: TurnInput, state: TurnState) -> CallPlan:
        return plan

    state = turn_state(FakeToolbox({}), deadline=Deadline(time.time, math.inf))
    outcome = await TurnLoop(caller, planned).run(NOT_READ, state, Seen(), Stop())
    answer = outcome.completion or outcome.error
    assert answer is not None
    return answer


# What passes


@pytest.mark.parametrize(
    "fault",
    [
        {"type": "fail", "status": 429, "retry_after": 1},
        {"type": "fail", "status": 429, "retry_after": 0.2},
        {"type": "fail", "status": 500},
        {"type": "fail", "status": 502},
        {"type": "fail", "status": 503, "retry_after": 0},
        {"type": "fail", "status": 529, "retry_after": 0},
        cut("disconnect", 0),
        cut("truncate", 0),
    ],
    ids=named,
)
async def test_transient_faults_are_retried_once(
    caller: ModelCaller, judge: Llmock, asked: ModelRequest, fault: Behaviour
) -> None:
    await judge.will(fault)
    answer = await complete(caller, asked)
    assert isinstance(answer, Completion)
    assert answer.finish == "stop"
    assert "four" in answer.text
    assert await judge.verdict() == Verdict(1, 2, (), ())


async def test_a_stream_cut_before_its_first_token_is_retried(
    caller: ModelCaller, judge: Llmock, asked: ModelRequest
) -> None:
    await judge.will(cut("truncate", SILENT[str(asked.profile.api_type)]))
    answer = await complete(caller, asked)
    assert isinstance(answer, Completion)
    assert answer.finish == "stop"
    assert await judge.verdict() == Verdict(1, 2, (), ())


async def test_retry_after_is_honoured_with_any_status(caller: ModelCaller, judge: Llmock, asked: ModelRequest) -> None:
    await judge.will({"type": "fail", "status": 503, "retry_after": 2})
    await complete(caller, asked)
    assert (await judge.verdict()).errors == ()


# Permanent faults


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        (HOUR, 1),
        (DOWN, 2),
        ({"type": "fail", "status": 429, "retry_after": 1, "times": None}, 3),
        ({"type": "fail", "status": 500, "times": None}, 2),
        (cut("disconnect", 0, times=None), 2),
        *(({"type": "fail", "status": status, "times": None}, 1) for status in (400, 401, 403, 404, 422)),
    ],
    ids=lambda given: named(given) if isinstance(given, dict) else "",
)
async def test_permanent_faults_are_not_retried(
    caller: ModelCaller, judge: Llmock, asked: ModelRequest, fault: Behaviour, attempts: int
) -> None:
    """Giving up is only a warning, because the next model or the person may try again."""
    await judge.will(fault)
    assert isinstance(await complete(caller, asked), ModelError)
    found = await judge.verdict()
    assert (found.calls, found.attempts, found.errors) == (1, attempts, ())


async def test_concurrent_calls_cause_no_retry_storm(caller: ModelCaller, judge: Llmock, asked: ModelRequest) -> None:
    await judge.will(DOWN)
    questions = [replace(asked, messages=(ChatMessage("user", f"question {n}"),)) for n in range(15)]
    failed = await asyncio.gather(*(complete(caller, each) for each in questions))
    assert all(isinstance(each, ModelError) for each in failed)
    found = await judge.verdict()
    assert 3 <= found.attempts < 15
    assert found.errors == ()


# Broken streams


async def test_a_truncated_answer_is_recognised(caller: ModelCaller, judge: Llmock, asked: ModelRequest) -> None:
    """The person has seen the text, so the request is not repeated automatically. llmock counts a truncated answer as
    accepted until the same request comes again."""
    await judge.will(cut("truncate", SILENT[str(asked.profile.api_type)] + 2))
    broken = await complete(caller, asked)
    assert isinstance(broken, Completion)
    assert broken.finish == "cut"
    assert broken.text
    whole = await complete(caller, asked)
    assert isinstance(whole, Completion)
    assert whole.finish == "stop"
    assert whole.text.startswith(broken.text)
    assert await judge.verdict() == Verdict(1, 2, (), ())


@pytest.mark.parametrize("kind", ["disconnect", "malformed"])
async def test_a_broken_answer_is_recognised(
    caller: ModelCaller, judge: Llmock, asked: ModelRequest, kind: str
) -> None:
    await judge.will(cut(kind, SILENT[str(asked.profile.api_type)] + 2))
    broken = await complete(caller, asked)
    assert isinstance(broken, Completion)
    assert broken.finish == "cut"
    assert broken.text
    assert (await judge.verdict()).errors == ()


@pytest.mark.parametrize("after", [0, 2])
async def test_a_hanging_stream_times_out(caller: ModelCaller, judge: Llmock, asked: ModelRequest, after: int) -> None:
    """A stream that hangs before its first token fails; one that hangs later gives a late answer."""
    first = SILENT[str(asked.profile.api_type)] + after
    await judge.will(
        cut("stall", first, stall_seconds=3600)
        if after
        else {"type": "slow_first_token", "seconds": 3600, "times": None}
    )
    left = await complete(caller, replace(asked, profile=replace(asked.profile, timeout_seconds=2.0)))
    assert left.finish == "late" if isinstance(left, Completion) else after == 0
    found = await judge.verdict()
    assert (found.attempts, found.errors, found.warnings) == (1 if after else 2, (), ())


# Control: a careless client is detected


BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "one two three four"}]}


async def careless(judge: Llmock, times: int) -> list[str]:
    """Repeat the request at once and accept any answer."""
    async with httpx.AsyncClient(base_url=judge.base("openai"), trust_env=False, timeout=60) as client:
        return [(await client.post("/chat/completions", json=BODY)).text for _ in range(times)]


@pytest.mark.parametrize(
    ("fault", "times", "finding"),
    [
        ({"type": "fail", "status": 429, "retry_after": 5}, 2, "retry_after_ignored"),
        (DOWN, 11, "retry_storm"),
        (cut("truncate", 3), 1, "truncated_stream_accepted"),
        ({"type": "fail", "status": 400, "times": None}, 2, "retried_non_retryable"),
    ],
    ids=["impatient", "stormy", "credulous", "stubborn"],
)
async def test_llmock_detects_a_careless_client(judge: Llmock, fault: Behaviour, times: int, finding: str) -> None:
    await judge.will(fault)
    assert await careless(judge, times)
    assert (await judge.verdict()).errors == (finding,)


async def test_ten_attempts_are_not_a_retry_storm(judge: Llmock) -> None:
    """llmock tolerates ten attempts; our client makes two."""
    await judge.will(DOWN)
    await careless(judge, 10)
    assert (await judge.verdict()).errors == ()
