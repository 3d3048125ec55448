"""Evaluates an expression and formats its result. It can't run any other code."""

from __future__ import annotations

import decimal
from decimal import Context, Decimal, Inexact
from fractions import Fraction

from handlers.tools.calculator.numbers import CONTEXT, TOO_LARGE, TOO_SMALL, Rounded
from handlers.tools.calculator.parser import Parser
from handlers.tools.calculator.units import Value, plain, spelled
from routing.errors import ToolFailed

_MAX_CHARACTERS = 1_000
_ROUNDED = Context(prec=15)
"""The number of digits that double precision always keeps."""
_EXACT = Context(prec=30, traps=[Inexact])
_MAX_DENOMINATOR = 10_000
_SMALLEST, _LARGEST = -7, 21
"""Powers of ten between which a number has no exponent."""
_TIMES = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_LONG_TIMES = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_MAX_TIME = 10_000
"""Longer times, in their own unit, are not written out in days and hours."""


def calculate(expression: str) -> str:
    """`expression = result`, or for a comparison `expression is true`. `log` has base 10, angles without a unit are
    radians, 200 + 10% is 220, halves are rounded away from zero.

    Raises ToolFailed if this is no expression, or has no result or one that is too large. Takes less than a second.
    """
    if len(expression) > _MAX_CHARACTERS:
        raise ToolFailed(f"The expression is longer than {_MAX_CHARACTERS:,} characters: do it in steps.")
    asked = " ".join(expression.split()).rstrip("=? ")
    try:
        with decimal.localcontext(CONTEXT):
            parser = Parser(asked)
            value = parser.value()
            if isinstance(value, bool):
                return f"{asked} is {str(value).lower()}"
            return f"{asked} = {_shown(value, parser)}"
    except (decimal.Overflow, OverflowError):
        raise ToolFailed(TOO_LARGE) from None
    except decimal.Underflow:
        raise ToolFailed(TOO_SMALL) from None
    except ZeroDivisionError:
        raise ToolFailed("Division by zero: it has no result.") from None
    except decimal.InvalidOperation:
        raise ToolFailed("The expression has no result: it is not defined for these numbers.") from None


def _shown(value: Value, parser: Parser) -> str:
    style = parser.style
    if style == "%":
        return f"{_written(plain(value, 'A percentage') * 100)}%"
    if style:
        number = plain(value, "A number in another base")
        if number.denominator != 1:
            raise ToolFailed(f"Only a whole number can be written in {style}.")
        return format(number.numerator, {"hex": "#x", "binary": "#b", "octal": "#o"}[style])
    if isinstance(value, Fraction):
        return _written(value) + _exactly(value)
    return f"{_written(value.magnitude)} {spelled(value, parser.spellings)}".replace(" 1/", "/") + _in_parts(value)


def _written(value: Fraction) -> str:
    """Integers in full, other exact numbers with up to 30 digits, the rest rounded to 15."""
    above, below = Decimal(value.numerator), Decimal(value.denominator)
    if below == 1 and not isinstance(value, Rounded):
        return f"{above:f}"
    try:
        number = (_ROUNDED if isinstance(value, Rounded) else _EXACT).divide(above, below)
    except Inexact:
        number = _ROUNDED.divide(above, below)
    number = number.normalize()
    if not number or _SMALLEST <= number.adjusted() < _LARGEST:
        return f"{number:f}"
    return f"{number:e}".replace("e+", "e")


def _exactly(value: Fraction) -> str:
    """A note with the exact fraction of a rounded result, if it is short."""
    is_short = value.denominator <= _MAX_DENOMINATOR and abs(value) <= _MAX_DENOMINATOR
    return (
        f" (exactly {value})"
        if is_short and not isinstance(value, Rounded) and Fraction(_written(value)) != value
        else ""
    )


def _in_parts(value: Value) -> str:
    """4.25 hours is also 4 h 15 min."""
    number, size = value.magnitude, _LONG_TIMES.get(spelled(value), 0)
    seconds = number * size
    if not size or isinstance(number, Rounded) or number.denominator == 1 or seconds.denominator != 1:
        return ""
    if not 0 < number < _MAX_TIME:
        return ""
    rest, parts = seconds.numerator, []
    for unit, size in _TIMES:
        count, rest = divmod(rest, size)
        parts += [f"{count} {unit}"] if count else []
    return f" ({' '.join(parts)})"
