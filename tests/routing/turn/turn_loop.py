"""Runs the turn loop with a scripted model and scripted tools."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from routing.config.contracts import DEFAULT_CONTRACTS
from routing.config.sections import TurnBounds
from routing.health.health import ModelHealth
from routing.llm.attempt import ModelCaller
from routing.ports import Clock
from routing.turn.loop import TurnLoop
from routing.turn.state import CallPlan, TurnInput, TurnState
from routing.types.deadline import Deadline
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import ChatMessage, ModelRequest, ProviderProfile, ToolCall
from routing.types.people import Person
from routing.types.stop import Stop
from routing.types.tools import ToolScope
from routing.types.turns import Outcome, PromptFit
from tests.fakes import FakeLlm, FakeToolbox, Seen
from tests.routing.turn.samples import NOT_READ, turn_cost, turn_state

PERSON = Person(1, "user", "Ann")
PROFILE = ProviderProfile("openai", "openai", None, "k", 30.0, "OPENAI_API_KEY")
DECISION = TierDecision("balanced", "default", "default")
CHOICE = ModelChoice("openai/m", None, "configured")
CONTRACT = DEFAULT_CONTRACTS["balanced"]


class Planner:
    """Sends the question and all later messages to the model."""

    def __init__(self, bounds: TurnBounds | None = None, most_chars: int = 100_000) -> None:
        self.bounds = bounds or TurnBounds()
        self.deadline = Deadline(lambda: 0.0, self.bounds.seconds)
        self.most_chars = most_chars
        self.cost = turn_cost()
        self.shortened: list[int] = []

    async def __call__(self, turn: TurnInput, state: TurnState) -> CallPlan:
        if state.shorten_to is not None:
            self.shortened.append(state.shorten_to)
            state.shorten_to = None
        messages = (ChatMessage("user", "question"), *state.prompt())
        request = ModelRequest("balanced", "openai/m", messages, PROFILE, None, None, may_call=state.may_call_tools)
        scope = ToolScope(PERSON, 7, DECISION)
        return CallPlan(DECISION, CONTRACT, CHOICE, request, scope, PromptFit(1, 2, 0), 1000)


async def echo(given: Mapping[str, Any]) -> str:
    return f"echo {given.get('text', '')}"


def call(name: str, arguments: str = "{}", id: str = "") -> ToolCall:
    return ToolCall(id or f"{name} {arguments}", name, arguments)


async def run(
    llm: FakeLlm,
    toolbox: FakeToolbox,
    planner: Planner | None = None,
    live: Seen | None = None,
    stop: Stop | None = None,
    tick: float = 0.001,
    clock: Clock | None = None,
) -> Outcome:
    ticks = count()
    clock = clock or (lambda: next(ticks) * tick)
    planner = planner or Planner()
    planner.deadline = Deadline(clock, planner.bounds.seconds)
    state = turn_state(toolbox, planner.bounds, planner.deadline, planner.most_chars)
    state.cost = planner.cost
    loop = TurnLoop(ModelCaller(llm, ModelHealth(clock), clock), planner)
    return await loop.run(NOT_READ, state, live or Seen(), stop or Stop())


def results(outcome: Outcome) -> list[str]:
    return [message.text for message in outcome.messages if message.role == "tool"]
