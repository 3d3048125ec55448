"""Exact fractions while they fit, otherwise results rounded to 34 digits. Both stay below 10^10,000.

One operation on two such numbers is fast; a power is checked before it is computed. Rounding a number out of range
raises decimal.Overflow or decimal.Underflow.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from routing.errors import ToolFailed

MAX_DIGITS = 10_000
_MAX_BITS = math.ceil(MAX_DIGITS * math.log2(10))
_LIMIT: int = 10**MAX_DIGITS
TOO_LARGE = f"The result is too large: {MAX_DIGITS:,} digits is the maximum."
TOO_SMALL = f"The result is too small: it is nearer to 0 than 10^-{MAX_DIGITS:,}."
CONTEXT = decimal.Context(
    prec=34,  # IEEE 754 decimal128
    Emax=MAX_DIGITS - 1,
    Emin=1 - MAX_DIGITS,
    traps=[decimal.Overflow, decimal.Underflow, decimal.InvalidOperation, decimal.DivisionByZero],
)
"""The decimal context of every calculation."""


class Approximate(Fraction):
    """A number rounded to 34 digits. Results computed from it are rounded, too."""

    __slots__ = ()


def _rounding(name: str) -> Callable[..., Any]:
    exact = getattr(Fraction, name)

    def operation(*values: Any) -> Any:
        result = exact(*values)
        return result if result is NotImplemented else Approximate(decimal_of(result))

    return operation


for _name in ("add", "sub", "mul", "truediv", "mod"):
    setattr(Approximate, f"__{_name}__", _rounding(f"__{_name}__"))
    setattr(Approximate, f"__r{_name}__", _rounding(f"__r{_name}__"))
for _name in ("__neg__", "__abs__"):
    setattr(Approximate, _name, _rounding(_name))


def decimal_of(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def fitted(value: Fraction | int) -> Fraction:
    """The number, rounded if its fraction is too long. Raises ToolFailed if it is too large."""
    value = value if isinstance(value, Fraction) else Fraction(value)
    if abs(value) >= _LIMIT:
        raise ToolFailed(TOO_LARGE)
    return value if max(abs(value.numerator), value.denominator) < _LIMIT else Approximate(decimal_of(value))


def whole(value: Fraction, what: str) -> int:
    """The integer. Raises ToolFailed, which names `what`, for any other number."""
    if isinstance(value, Approximate) or value.denominator != 1:
        raise ToolFailed(f"{what} must be a whole number.")
    return value.numerator


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """Exact for whole exponents and square roots if the result fits. Raises ToolFailed if it is not real."""
    rounded = isinstance(base, Approximate) or isinstance(exponent, Approximate)
    if not rounded and exponent == Fraction(1, 2) and base >= 0:
        root = Fraction(math.isqrt(base.numerator), math.isqrt(base.denominator))
        if root * root == base:
            return root
    if rounded or exponent.denominator > 1:
        if base < 0 and exponent.denominator > 1:
            raise ToolFailed("A negative number has no real power with a fraction: cbrt(x) takes its third root.")
        return Approximate(decimal_of(base) ** decimal_of(exponent))
    bits = max(abs(base.numerator), base.denominator).bit_length() - 1
    if bits * abs(exponent.numerator) <= _MAX_BITS:
        return fitted(base**exponent.numerator)
    return Approximate(decimal_of(base) ** exponent.numerator)
