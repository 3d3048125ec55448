"""Numbers and what is done with them: exact fractions as long as that can be, else decimals of 34 digits.

Both stay below 10^10,000; a decimal beyond raises decimal.Overflow or Underflow. An exact operation takes two numbers
of that size at most, so it is short; a power, which is not, is judged by the length of its result beforehand.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction

from routing.errors import ToolFailed

Number = Fraction | Decimal
MOST_DIGITS = 10_000
MOST_BITS = math.ceil(MOST_DIGITS * math.log2(10))
_LARGEST: int = 10**MOST_DIGITS
_MOST_ROOT = 64
"""Roots up to this one are looked for among the fractions."""
CONTEXT = decimal.Context(
    prec=34,  # IEEE 754 decimal128
    Emax=MOST_DIGITS - 1,
    Emin=1 - MOST_DIGITS,
    traps=[decimal.Overflow, decimal.Underflow, decimal.InvalidOperation, decimal.DivisionByZero],
)
"""To be the local context of every calculation."""


def too_large() -> ToolFailed:
    return ToolFailed(f"The result is too large: {MOST_DIGITS:,} digits is the maximum.")


def too_small() -> ToolFailed:
    return ToolFailed(f"The result is too small: it is nearer to 0 than 10^-{MOST_DIGITS:,}.")


def fitted(value: Fraction) -> Number:
    """The number itself; as a decimal when its fraction is too long. Raises ToolFailed when it is too large."""
    if max(abs(value.numerator), value.denominator) < _LARGEST:
        return value
    if value.denominator == 1 or abs(value) >= _LARGEST:
        raise too_large()
    return decimal_of(value)


def decimal_of(value: Number) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(value.numerator) / Decimal(value.denominator)


def float_of(value: Number, most: float = 1e300) -> float:
    """For what only the machine's floating point can do. Raises ToolFailed above `most`."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if abs(number) > most:
        raise ToolFailed(f"{most:g} is the maximum for this function.")
    return number


def whole(value: Number, what: str) -> int:
    """Raises ToolFailed, naming `what`, for what is no integer."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    raise ToolFailed(f"{what} must be a whole number.")


def plus(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return fitted(left + right)
    return decimal_of(left) + decimal_of(right)


def times(left: Number, right: Number) -> Number:
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return fitted(left * right)
    return decimal_of(left) * decimal_of(right)


def over(left: Number, right: Number) -> Number:
    if not right:
        raise ToolFailed("Division by zero: it has no result.")
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return fitted(left / right)
    return decimal_of(left) / decimal_of(right)


def floor_over(left: Number, right: Number) -> Number:
    """The quotient, rounded down."""
    quotient = over(left, right)
    return Fraction(math.floor(quotient))


def remainder(left: Number, right: Number) -> Number:
    """With the sign of `right`."""
    return plus(left, times(Fraction(-1), times(right, floor_over(left, right))))


def power(base: Number, exponent: Number) -> Number:
    """Exact where it is a fraction. Raises ToolFailed for what is too large, infinite or not real."""
    if not base and exponent < 0:
        raise ToolFailed("Division by zero: 0 has no negative power.")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return _whole_power(base, exponent.numerator)
        rooted = root(base, exponent.denominator) if base >= 0 else None
        if rooted is not None:
            return _whole_power(rooted, exponent.numerator)
    if base < 0 and (not isinstance(exponent, Fraction) or exponent.denominator != 1):
        raise ToolFailed("A negative number has no real power with a fraction: cbrt(x) takes its third root.")
    return decimal_of(base) ** decimal_of(exponent)


def _whole_power(base: Fraction, exponent: int) -> Number:
    if base in (0, 1):
        return base if exponent else Fraction(1)
    if base == -1:
        return Fraction(-1 if exponent % 2 else 1)
    longest = max(abs(base.numerator), base.denominator).bit_length() - 1
    if longest * abs(exponent) <= MOST_BITS:
        return fitted(base**exponent)
    if base.denominator == 1 and exponent > 0:
        raise too_large()
    return decimal_of(base) ** Decimal(exponent)


def root(value: Fraction, degree: int) -> Fraction | None:
    """The root of a number ≥ 0 when it is a fraction, too."""
    if degree > _MOST_ROOT:
        return None
    top, bottom = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return Fraction(top, bottom) if top**degree == value.numerator and bottom**degree == value.denominator else None


def _whole_root(value: int, degree: int) -> int:
    """Newton's way from above: the largest integer whose power is at most `value`."""
    if degree == 2 or value < 2:
        return math.isqrt(value) if degree == 2 else value
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better
