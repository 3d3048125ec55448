"""Arithmetic for a model, which is bad at it: exact, with units, and no way to run anything else."""

from __future__ import annotations

import asyncio
import decimal

from handlers.tools.arithmetic.display import shown
from handlers.tools.arithmetic.numbers import CONTEXT, too_large, too_small
from handlers.tools.arithmetic.parser import Parser
from handlers.tools.arithmetic.quantities import Reckoning
from handlers.tools.arithmetic.units import Units
from routing.errors import ToolFailed
from routing.types.tools import ToolScope

MOST_CHARACTERS = 1_000


class CalculatorTools:
    """The library of units is loaded once, when an expression first names one."""

    def __init__(self) -> None:
        self._reckoning = Reckoning(Units())

    async def calculate(self, scope: ToolScope, expression: str) -> str:
        """`expression = result`, or for a comparison `expression is true`. `log` has base 10, angles are radians unless
        they have a unit, 200 + 10% is 220, halves are rounded away from zero.

        Raises ToolFailed, at once, for what is no expression, has no result or would be too large.
        """
        return await asyncio.to_thread(self._answer, expression)

    def _answer(self, expression: str) -> str:
        if len(expression) > MOST_CHARACTERS:
            raise ToolFailed(f"The expression is longer than {MOST_CHARACTERS:,} characters: do it in steps.")
        asked = " ".join(expression.split()).rstrip("=? ")
        try:
            with decimal.localcontext(CONTEXT):
                answer = Parser(asked, self._reckoning).answer()
                return f"{asked} {'is' if isinstance(answer.value, bool) else '='} {shown(answer)}"
        except decimal.Overflow:
            raise too_large() from None
        except decimal.Underflow:
            raise too_small() from None
        except (decimal.InvalidOperation, decimal.DivisionByZero):
            raise ToolFailed("The expression has no result: it is not defined for these numbers.") from None
