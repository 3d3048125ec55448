"""Results as people write them."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from handlers.tools.arithmetic.numbers import MOST_DIGITS, Number, decimal_of
from handlers.tools.arithmetic.parser import Answer
from handlers.tools.arithmetic.quantities import Quantity, spelled
from routing.errors import ToolFailed

DIGITS = 15
"""Of what has no exact end: as many as double precision always keeps."""
_EXACT_DIGITS = 30
"""Longer decimals with an end are cut, too."""
_MOST_DENOMINATOR = 10_000
_SMALLEST, _LARGEST = -7, 21
"""Powers of ten between which a number is written without one."""
_TIMES = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_MOST_TIME = 10_000
_LONG_TIMES = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


def shown(answer: Answer) -> str:
    """The result alone."""
    if isinstance(answer.value, bool):
        return "true" if answer.value else "false"
    value = answer.value
    if answer.style == "%":
        return f"{number(value.plain('A percentage') * 100)}%"
    if answer.style:
        return _based(value, answer.style)
    if not value.unit:
        return number(value.number) + _fraction(value.number)
    return f"{number(value.number)} {spelled(value.unit, answer.spellings)}".replace(" 1/", "/") + _time(value)


def number(value: Number) -> str:
    """Whole numbers in full; other exact ones up to 30 digits; the rest rounded to 15."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return f"{Decimal(value.numerator):f}"
    with localcontext(Context(prec=MOST_DIGITS, Emax=2 * MOST_DIGITS, Emin=-2 * MOST_DIGITS)):
        exact = _ended(value) if isinstance(value, Fraction) else None
    if exact is None:
        with localcontext(Context(prec=DIGITS, Emax=2 * MOST_DIGITS, Emin=-2 * MOST_DIGITS)):
            exact = (+decimal_of(value)).normalize()
    if not exact:
        return "0"  # never -0
    if _SMALLEST <= exact.adjusted() < _LARGEST:
        return f"{exact:f}"
    return f"{exact:e}".replace("e+", "e")


def _ended(value: Fraction) -> Decimal | None:
    """The decimal of a fraction that has one with an end, and a short one."""
    bottom = value.denominator
    twos = (bottom & -bottom).bit_length() - 1
    fives = int((bottom >> twos).bit_length() / math.log2(5))
    if 2**twos * 5**fives != bottom:
        return None
    places = max(twos, fives)
    exact = (Decimal(value.numerator * 10**places // bottom).scaleb(-places)).normalize()
    return exact if len(exact.as_tuple().digits) <= _EXACT_DIGITS else None


def _fraction(value: Number) -> str:
    """What a rounded result is exactly, when that is short."""
    if not isinstance(value, Fraction) or value.denominator > _MOST_DENOMINATOR or abs(value) > _MOST_DENOMINATOR:
        return ""
    return "" if Fraction(number(value)) == value else f" (exactly {value})"


def _based(value: Quantity, style: str) -> str:
    plain = value.plain("A number in another base")
    if not isinstance(plain, Fraction) or plain.denominator != 1:
        raise ToolFailed(f"Only a whole number can be written in {style}.")
    return format(plain.numerator, {"hex": "#x", "binary": "#b", "octal": "#o"}[style])


def _time(value: Quantity) -> str:
    """4.25 hours are also 4 h 15 min."""
    name, power = value.unit[0]
    if len(value.unit) > 1 or power != 1 or name not in _LONG_TIMES or not isinstance(value.number, Fraction):
        return ""
    seconds = abs(value.number) * _LONG_TIMES[name]
    if value.number.denominator == 1 or seconds.denominator != 1 or not 0 < value.number < _MOST_TIME:
        return ""
    rest, parts = seconds.numerator, []
    for unit, size in _TIMES:
        count, rest = divmod(rest, size)
        parts += [f"{count} {unit}"] if count else []
    return f" ({' '.join(parts)})"
