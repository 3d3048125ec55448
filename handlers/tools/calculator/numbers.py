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


class Rounded(Fraction):
    """A number that was rounded. The results of arithmetic with it are rounded, too."""


class Percent(Fraction):
    """A number written with %. Adding it to a value adds that share of the value."""


class _RoundedPercent(Percent, Rounded):
    pass


def percentage(share: Fraction) -> Percent:
    """The share of 1, as a percentage; rounded if the share is."""
    return (_RoundedPercent if isinstance(share, Rounded) else Percent)(share)


def tracked(exact: Callable[..., Any]) -> Callable[..., Any]:
    """The operation, with a rounded result if a number in it is rounded."""

    def operation(*values: object, **options: object) -> Any:
        result = exact(*values, **options)
        is_rounded = any(isinstance(value, Rounded) for value in values)
        return Rounded(result) if is_rounded and result is not NotImplemented else result

    return operation


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod")
for _name in ("pow", "neg", "abs", *_BINARY, *(f"r{each}" for each in _BINARY)):
    for _class in (Rounded, Percent):
        setattr(_class, f"__{_name}__", tracked(getattr(Fraction, f"__{_name}__")))


def in_decimal(run: Callable[..., Decimal], *values: Fraction) -> Fraction:
    """The result of `run` with 34 digits."""
    flags = decimal.getcontext().flags
    flags[decimal.Inexact] = False
    result = run(*(Decimal(value.numerator) / Decimal(value.denominator) for value in values))
    is_rounded = flags[decimal.Inexact] or any(isinstance(value, Rounded) for value in values)
    return (Rounded if is_rounded else Fraction)(result)


def fitted(value: Fraction | int) -> Fraction:
    """The number, rounded if its fraction is too long. Raises ToolFailed if it is too large."""
    value = value if isinstance(value, Fraction) else Fraction(value)
    if abs(value) >= _LIMIT:
        raise ToolFailed(TOO_LARGE)
    return value if max(abs(value.numerator), value.denominator) < _LIMIT else in_decimal(Decimal, value)


def whole(value: Fraction, what: str) -> int:
    """The integer. Raises ToolFailed, which names `what`, for any other number."""
    if value.denominator != 1:
        raise ToolFailed(f"{what} must be a whole number.")
    return value.numerator


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """Exact for whole exponents and square roots if the result fits. Raises ToolFailed if it is not real."""
    if isinstance(exponent, Rounded):
        base = Rounded(base)
    if exponent == Fraction(1, 2) and base >= 0:
        root = Fraction(math.isqrt(base.numerator), math.isqrt(base.denominator))
        if root * root == base:
            return Rounded(root) if isinstance(base, Rounded) else root
    if exponent.denominator > 1:
        if base < 0:
            raise ToolFailed("A negative number has no real power with a fraction: cbrt(x) takes its third root.")
        return in_decimal(pow, base, exponent)
    bits = max(abs(base.numerator), base.denominator).bit_length() - 1
    if bits * abs(exponent.numerator) <= _MAX_BITS:
        return fitted(base**exponent.numerator)
    return in_decimal(lambda number: number**exponent.numerator, base)
