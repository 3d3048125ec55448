"""The inputs of an attempt besides the request."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

from routing.bounded import Bounded
from routing.config.contracts import DEFAULT_CONTRACTS
from routing.config.sections import TurnBounds
from routing.llm.attempt import CallOptions
from routing.ports import Clock, Tools
from routing.turn.state import TurnState
from routing.turn.tool_executor import ToolExecutor
from routing.types.deadline import Deadline
from routing.types.messages import ChatKey
from routing.types.tiers import Tier
from routing.types.usage import TurnCost


def turn_cost() -> TurnCost:
    """An empty cost."""
    return TurnCost(1, ChatKey("telegram", "7"))


def call_options(
    seconds: float = math.inf,
    first: float = math.inf,
    whole: float = math.inf,
    tier: Tier = "balanced",
    clock: Clock = time.time,
    **more: bool,
) -> CallOptions:
    """A deadline for a turn of `seconds`; an attempt may take `whole` seconds, and `first` until the first token."""
    contract = replace(DEFAULT_CONTRACTS[tier], first_token_seconds=first, try_seconds=whole)
    return CallOptions(contract, Deadline(clock, seconds), turn_cost(), **more)


NOT_READ: Any = None
"""A value that the loop only passes to its planner; the planners of these tests don't read it."""


def turn_state(
    tools: Tools, bounds: TurnBounds | None = None, deadline: Deadline | None = None, most_chars: int = 100_000
) -> TurnState:
    """The state of a new turn."""
    bounds = bounds or TurnBounds()
    executor = ToolExecutor(tools, bounds.tool_calls, most_chars)
    return TurnState(
        bounds, deadline or Deadline(time.time, bounds.seconds), turn_cost(), executor, NOT_READ, NOT_READ, Bounded(1)
    )
