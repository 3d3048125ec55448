"""One model after another until one answers: which, how often, with what request, and what remains if none does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace

import pytest

from routing.config.contracts import ALLOWANCE, DEFAULT_CONTRACTS, TierContract
from routing.errors import (
    BadModelRequest,
    ContextOverflow,
    KeyRejected,
    ModelError,
    ModelUnknown,
    OutOfCredit,
    RateLimited,
    Unreachable,
)
from routing.health.health import ModelHealth
from routing.llm.attempt import ModelCaller
from routing.turn.loop import TurnLoop
from routing.turn.state import CallPlan, TurnInput, TurnState
from routing.types.deadline import Deadline
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import (
    ChatMessage,
    Completion,
    Finish,
    ModelRequest,
    ProviderProfile,
    StreamEnd,
    StreamEvent,
)
from routing.types.people import Person
from routing.types.stop import Stop
from routing.types.tools import ToolScope
from routing.types.turns import Failed, PromptFit
from tests.fakes import FakeLlm, FakeToolbox, Seen, Step, says
from tests.routing.health.breakers import Time
from tests.routing.turn.samples import NOT_READ, turn_state

DECISION = TierDecision("balanced", "default", "default")
SCOPE = ToolScope(Person(1, "user", "Ann"), 7, DECISION)
DOWN, BUSY = Unreachable("a/1", "it is down"), RateLimited("a/1", "try again in 30 s", 30.0)

pytestmark = pytest.mark.usefixtures("no_pause")


def cut(finish: Finish = "length") -> list[Step]:
    """Ended early, without text."""
    return [StreamEnd(finish, None)]


@dataclass
class FailoverTurn:
    """A turn with one answer, planned for a pool of models."""

    llm: FakeLlm
    pool: tuple[str, ...] = ("a/1", "b/2", "c/3")
    contract: TierContract = field(default_factory=lambda: replace(DEFAULT_CONTRACTS["balanced"], attempts=3))
    windows: dict[str, int] = field(default_factory=dict)
    reasoning: str | None = None
    room: int = 1_000_000
    time: Time = field(default_factory=Time)
    live: Seen = field(default_factory=Seen)
    stop: Stop = field(default_factory=Stop)
    shortened: list[int] = field(default_factory=list)
    shrinks: bool = True

    def __post_init__(self) -> None:
        deadline = Deadline(self.time, self.contract.deadline_seconds)
        self.state = turn_state(FakeToolbox({}), deadline=deadline)

    @property
    def asked(self) -> list[str]:
        return [request.model for request in self.llm.asked]

    async def plan(self, turn: TurnInput, state: TurnState) -> CallPlan:
        if state.shorten_to is not None:
            self.shortened.append(state.shorten_to)
            state.shorten_to = None
        able = [model for model in self.pool if model not in state.excluded and self.window(model) > state.above]
        model, *rest = able
        profile = ProviderProfile(model[0], "openai", None, "k", 30.0, "KEY")
        words = (ChatMessage("user", "question"[len(self.shortened) if self.shrinks else 0 :]),)
        request = ModelRequest("balanced", model, words, profile, self.reasoning, None, max_output=2_000)
        choice = ModelChoice(model, self.reasoning, "configured", tuple(rest))
        window, widest = self.window(model), max(map(self.window, rest), default=0)
        fit = PromptFit(window - self.room, window, 0)
        return CallPlan(DECISION, self.contract, choice, request, SCOPE, fit, window, widest)

    def window(self, model: str) -> int:
        return self.windows.get(model, 1_000_000)

    async def run(self) -> Completion:
        """The answer. Raises the error that ended the turn."""
        loop = TurnLoop(ModelCaller(self.llm, ModelHealth(self.time), self.time), self.plan)
        self.outcome = await loop.run(NOT_READ, self.state, self.live, self.stop)
        if self.outcome.error is not None:
            raise self.outcome.error
        assert self.outcome.completion is not None
        return self.outcome.completion


@pytest.mark.parametrize(
    "error",
    [BUSY, DOWN, KeyRejected("a/1", "no"), ModelUnknown("a/1", "no"), BadModelRequest("a/1", "no")],
    ids=lambda error: type(error).__name__,
)
async def test_a_failing_model_is_replaced_by_the_next(error: ModelError) -> None:
    turn = FailoverTurn(FakeLlm([error], says("hi")))
    assert (await turn.run()).text == "hi"
    assert turn.asked == ["a/1", "b/2"]
    assert turn.outcome.choice.model == "b/2"
    assert turn.state.failed == [Failed("a/1", error.reason, "other model")]


async def test_a_single_model_is_retried_once() -> None:
    turn = FailoverTurn(FakeLlm([DOWN], says("hi")), pool=("a/1",))
    assert (await turn.run()).text == "hi"
    assert turn.state.failed == []
    again = FailoverTurn(FakeLlm([DOWN], [DOWN]), pool=("a/1",))
    with pytest.raises(Unreachable):
        await again.run()
    assert again.asked == ["a/1", "a/1"]


@pytest.mark.parametrize(("seconds", "asked"), [(2.0, ["a/1", "b/2"]), (1.9, ["a/1"])])
async def test_no_attempt_starts_in_the_last_two_seconds(seconds: float, asked: list[str]) -> None:
    turn = FailoverTurn(FakeLlm([DOWN], says("hi")))

    def fails_late() -> list[Step]:
        turn.time.now += turn.contract.deadline_seconds - seconds
        return [DOWN]

    turn.llm = Moving(fails_late, says("hi"))
    if len(asked) == 2:
        await turn.run()
        assert turn.outcome.first_token == turn.contract.deadline_seconds - seconds, "from the first try on"
    else:
        with pytest.raises(Unreachable):
            await turn.run()
    assert turn.asked == asked


class Moving(FakeLlm):
    """Its first call takes time."""

    def __init__(self, first: Callable[[], list[Step]], *calls: list[Step]) -> None:
        super().__init__([], *calls)
        self._first = first

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        if not self.asked:
            self._calls[0] = self._first()
        return super().stream(request)


@pytest.mark.parametrize(("reasoning", "allowance"), [(None, ALLOWANCE["low"]), ("high", ALLOWANCE["high"])])
async def test_cut_off_without_text_doubles_the_output_limit(reasoning: str | None, allowance: int) -> None:
    turn = FailoverTurn(FakeLlm(cut(), says("hi")), reasoning=reasoning)
    assert (await turn.run()).text == "hi"
    assert turn.asked == ["a/1", "a/1"]
    assert [request.max_output for request in turn.llm.asked] == [2_000, 2_000 + 2 * allowance]


@pytest.mark.parametrize(("room", "most"), [(5_000, 5_000), (100, 2_000)])
async def test_the_doubled_output_limit_is_capped_by_the_window(room: int, most: int) -> None:
    turn = FailoverTurn(FakeLlm(cut(), says("hi")), room=room)
    await turn.run()
    assert turn.llm.asked[1].max_output == most


async def test_repeated_cut_offs_without_text_try_each_model() -> None:
    turn = FailoverTurn(FakeLlm(cut(), cut(), says("hi")))
    assert (await turn.run()).text == "hi"
    assert turn.asked == ["a/1", "a/1", "b/2"]
    assert turn.state.failed == [Failed("a/1", "", "other model")]
    assert turn.llm.asked[2].max_output == 2_000, "the next begins with the usual allowance"
    turn = FailoverTurn(FakeLlm(cut(), cut()), pool=("a/1",))
    done = await turn.run()
    assert (done.text, done.finish) == ("", "length")


async def test_an_overflow_is_shortened_once_then_moves_to_a_larger_window() -> None:
    long = ContextOverflow("a/1", "too long")
    turn = FailoverTurn(FakeLlm([long], says("hi")), windows={"a/1": 100})
    assert (await turn.run()).text == "hi"
    assert turn.asked == ["a/1", "a/1"]
    assert turn.shortened == [100]
    turn = FailoverTurn(FakeLlm([long], [long], says("hi")), windows={"a/1": 100, "b/2": 100})
    assert (await turn.run()).text == "hi"
    assert turn.asked == ["a/1", "a/1", "c/3"]
    assert turn.shortened == [100]
    turn = FailoverTurn(FakeLlm([long], [long], [long]), windows={"a/1": 100, "b/2": 90, "c/3": 100})
    with pytest.raises(ContextOverflow):
        await turn.run()
    assert turn.asked == ["a/1"] * 3


async def test_an_identical_request_is_never_sent_twice() -> None:
    turn = FailoverTurn(FakeLlm([ContextOverflow("a/1", "too long")]), pool=("a/1",), shrinks=False)
    with pytest.raises(ContextOverflow):
        await turn.run()
    assert turn.asked == ["a/1"]


async def test_an_account_without_credit_is_not_tried_again() -> None:
    turn = FailoverTurn(FakeLlm([OutOfCredit("a/1", "no")], says("hi")), pool=("a/1", "a/2", "b/2"))
    assert (await turn.run()).text == "hi"
    assert turn.asked == ["a/1", "b/2"]
    turn = FailoverTurn(FakeLlm([KeyRejected("a/1", "no")]), pool=("a/1", "a/2"))
    with pytest.raises(KeyRejected):
        await turn.run()
    assert turn.asked == ["a/1"]


async def test_a_shortened_turn_is_not_shortened_again() -> None:
    turn = FailoverTurn(FakeLlm([ContextOverflow("a/1", "too long")]))
    turn.state.shortened = 3
    with pytest.raises(ContextOverflow):
        await turn.run()
    assert turn.shortened == []
    assert turn.asked == ["a/1"]


async def test_stop_ends_the_wait_before_a_retry() -> None:
    turn = FailoverTurn(FakeLlm([RateLimited("a/1", "busy", 2.9)], says("never")), pool=("a/1",))
    asyncio.get_running_loop().call_later(0.02, turn.stop.request)
    done = await turn.run()
    assert (done.text, done.finish, turn.llm.made) == ("", "stopped", 1)
