"""The calculator as a test asks it."""

from __future__ import annotations

import asyncio

import pytest

from handlers.tools.calculator import CalculatorTools
from routing.errors import ToolFailed
from routing.types.decisions import TierDecision
from routing.types.people import Person
from routing.types.tools import ToolScope

SCOPE = ToolScope(Person(7, "user", "Ada"), 1, TierDecision("balanced", "default", ""))
TOOLS = CalculatorTools()
TOO_LARGE = "The result is too large: 10,000 digits is the maximum."


def result(expression: str) -> str:
    """What is said behind the expression."""
    return asyncio.run(TOOLS.calculate(SCOPE, expression)).removeprefix(" ".join(expression.split())).strip()


def refusal(expression: str) -> str:
    with pytest.raises(ToolFailed) as caught:
        result(expression)
    return str(caught.value)
