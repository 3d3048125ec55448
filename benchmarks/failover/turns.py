"""Turns of the real classes, from deadline to outcome, without platform and storage."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from benchmarks.bots.contestants import KEY
from routing.bounded import Bounded
from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.config.sections import MAX_RESULT_CHARACTERS, TurnBounds
from routing.errors import ToolFailed
from routing.health.health import ModelHealth
from routing.llm.attempt import ModelCaller
from routing.llm.null_reply import NullLiveReply
from routing.policy.candidates import Needs
from routing.policy.models import Models
from routing.ports import Clock, Llm
from routing.turn.loop import TurnLoop
from routing.turn.state import CallPlan, TurnInput, TurnState
from routing.turn.tool_executor import ToolExecutor
from routing.types.deadline import Deadline
from routing.types.decisions import TierDecision
from routing.types.llm import ChatMessage, ModelRequest, ToolCall
from routing.types.messages import ChatKey
from routing.types.people import Person, Preferences
from routing.types.stop import Stop
from routing.types.tiers import Tier
from routing.types.tools import ToolScope, Traits
from routing.types.turns import Outcome, PromptFit
from routing.types.usage import TurnCost

VENDORS = {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}
"""The path after a vendor's root URL."""
NAMES = ("openai/gpt-5.1", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash")
"""Their models; further models of a vendor have a number appended."""
TIER: Tier = "balanced"
CHOICES = 3
"""How often the bot chooses a model in a turn of one call: for the plan, for one that can take the question, and for a
summary."""
QUESTION = "How often should I water the tomatoes in August?"
_DECISION = TierDecision(TIER, "default", "default")
_SCOPE = ToolScope(Person(1, "user", "Ada"), 1, _DECISION)
_FIT = PromptFit(20, 100_000, 0)


def models(
    health: ModelHealth,
    root: str = "",
    pool: Sequence[str] = (),
    seconds: Mapping[str, float] | None = None,
    clock: Clock = time.time,
) -> Models:
    """Three vendors with a key each, at `root`; the tier has its default pool and contract unless given."""
    tier = {**({"pool": list(pool)} if pool else {}), **(seconds or {})}
    providers = {name: {"apiType": name, "baseUrl": f"{root}/{name}{end}"} for name, end in VENDORS.items()}
    document = {"tiers": {TIER: tier}, **({"llm": {"providers": providers}} if root else {})}
    config = read_config(jsonfile.parse(json.dumps(document), "benchmark"), dict.fromkeys(VENDORS, KEY), {})
    return Models(config, _catalog(), health=health, clock=clock)


@cache
def _catalog() -> Catalog:
    return Catalog.load(BUNDLED)


def decision_for(models: Models, text: str, excluded: Collection[str] = ()) -> CallPlan:
    """Plans one call, choosing a model as often as the bot does."""
    for _ in range(CHOICES):
        choice = models.choose(TIER, Preferences(), Needs(), excluded)
    card = models.catalog.lookup(choice.model)
    window = card.limit(choice.reasoning)
    widest = max((models.catalog.lookup(each).limit(None) for each in choice.fallbacks), default=0)
    messages = (ChatMessage("system", "You help."), ChatMessage("user", text))
    request = models.request(TIER, choice, messages, room=window)
    return CallPlan(_DECISION, models.config.contracts[TIER], choice, request, _SCOPE, _FIT, window, widest)


class NoTools:
    """`routing.ports.Tools` without tools."""

    def traits(self, name: str) -> Traits:
        return Traits()

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        raise ToolFailed(f"There is no tool {call.name}.")


class Line(Deadline):
    """The turn's deadline; `in_line` are the seconds in queues."""

    in_line = 0.0

    def wait(self, seconds: float) -> None:
        self.in_line += seconds
        super().wait(seconds)


class TurnRunner:
    """Answers questions through an `Llm`, with everything that failover adds."""

    def __init__(self, llm: Llm, health: ModelHealth, clock: Clock = time.time) -> None:
        self._caller = ModelCaller(llm, health, clock)
        self._clock = clock

    async def turn(
        self, models: Models, text: str = QUESTION, person_id: int = 1, stop: Stop | None = None
    ) -> tuple[Outcome, Line]:
        """One complete turn; returns the outcome and its deadline."""
        deadline = Line(self._clock, models.config.contracts[TIER].deadline_seconds)
        bounds = TurnBounds()
        executor = ToolExecutor(NoTools(), bounds.tool_calls, MAX_RESULT_CHARACTERS)
        cost = TurnCost(person_id, ChatKey("cli", str(person_id)))

        async def plan(turn: TurnInput, state: TurnState) -> CallPlan:
            planned = decision_for(models, text, state.excluded)
            state.deadline.allow(planned.contract.deadline_seconds)
            return planned

        unread: Any = None  # only planners read it
        state = TurnState(bounds, deadline, cost, executor, unread, unread, Bounded(1))
        return await TurnLoop(self._caller, plan).run(unread, state, NullLiveReply(), stop or Stop()), deadline


async def bare(llm: Llm, request: ModelRequest) -> str:
    """The floor: the text of one bare call."""
    text = ""
    async for event in llm.stream(request):
        text += getattr(event, "text", "")
    return text
