"""Shared by the calculator's tests."""

from __future__ import annotations

import pytest

from handlers.tools.calculator.calculator import calculate
from routing.errors import ToolFailed

TOO_LARGE = "The result is too large: 10,000 digits is the maximum."


def result(expression: str) -> str:
    """The answer without the expression."""
    return calculate(expression).removeprefix(" ".join(expression.split())).strip()


def refusal(expression: str) -> str:
    with pytest.raises(ToolFailed) as caught:
        calculate(expression)
    return str(caught.value)
