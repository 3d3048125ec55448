"""The functions and constants that an expression may use."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from typing import NamedTuple

from handlers.tools.calculator.numbers import MAX_DIGITS, Rounded, fitted, in_decimal, power, tracked, whole
from handlers.tools.calculator.units import Value, apply, bounded, converted, find, number_of, plain, quantity, raised
from routing.errors import ToolFailed

_MAX_ANGLE = 1e15
"""A larger float is too imprecise for an angle."""
_MAX_FLOAT = 1e300
_CERTAIN = 10**15
"""A rounded number below this has correct digits before the point."""
_MANY = 500


class Function(NamedTuple):
    """Takes `least` to `most` arguments; `units`: they may have units."""

    run: Callable[..., Value]
    least: int = 1
    most: int = 1
    units: bool = False


def call(name: str, values: list[Value]) -> Value:
    """Call a function. Raises ToolFailed for invalid arguments."""
    run, least, most, units = FUNCTIONS[name]
    if not least <= len(values) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        comma = " Inside a function a comma separates arguments: write 1234 for 1,234." if len(values) > most else ""
        raise ToolFailed(f"{name} takes {wanted} argument{'s' if most > 1 else ''}, not {len(values)}.{comma}")
    return bounded(run(*(value if units else plain(value, f"An argument of {name}") for value in values)))


def _same(run: Callable[..., Fraction]) -> Callable[..., Value]:
    """Apply a function of numbers to values, in the unit of the first one."""

    def function(first: Value, *more: Value) -> Value:
        result = run(number_of(first), *(number_of(converted(value, first)) for value in more))
        return result if isinstance(first, Fraction) else quantity(result, first.units)

    return function


def _float(value: Fraction, most: float = _MAX_FLOAT) -> float:
    if abs(value) > most:
        raise ToolFailed(f"{most:g} is the maximum for this function.")
    return float(value)


def _machine(run: Callable[..., float]) -> Callable[..., Fraction]:
    """A floating-point function, exact to about 16 digits."""

    def function(*values: Fraction) -> Fraction:
        try:
            return Rounded(run(*map(_float, values)))
        except ValueError:
            raise ToolFailed("This function has no real result there: the number is outside its domain.") from None

    return function


def _circular(run: Callable[[float], float], value: Value) -> Fraction:
    """sin or cos; exactly 0 where only the rounding of π prevents it."""
    if not isinstance(value, Fraction):
        value = converted(apply(operator.mod, value, 360 * find("degree")), Fraction(1))
    angle = _float(value, _MAX_ANGLE)
    result = run(angle)
    return Fraction(0) if abs(result) < abs(angle) * 2**-52 and abs(angle) > 1 else Rounded(result)


_sin, _cos = partial(_circular, math.sin), partial(_circular, math.cos)


def _tan(value: Value) -> Fraction:
    if not _cos(value):
        raise ToolFailed("tan has no result there: it is infinite.")
    return _sin(value) / _cos(value)


def _square_root(value: Value) -> Value:
    if number_of(value) < 0:
        raise ToolFailed("A negative number has no real square root.")
    return raised(value, Fraction(1, 2))


def _cube_root(value: Value) -> Value:
    return raised(value, Fraction(1, 3)) if number_of(value) >= 0 else -raised(-value, Fraction(1, 3))


def _hypotenuse(*sides: Fraction) -> Fraction:
    return power(_sum(*(fitted(side * side) for side in sides)), Fraction(1, 2))


def _logarithm(value: Fraction, base: Fraction | None = None) -> Fraction:
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise ToolFailed("A logarithm takes a number above 0, and a base above 0 other than 1.")
    if base is None:
        return in_decimal(Decimal.ln, value)
    return in_decimal(Decimal.log10, value) if base == 10 else in_decimal(_quotient, value, base)


def _quotient(value: Decimal, base: Decimal) -> Decimal:
    return value.ln() / base.ln()


def _round(value: Value, places: Value = Fraction(0)) -> Value:
    """Round halves away from zero."""
    count = whole(plain(places, "The number of places"), "The number of places")
    if abs(count) > MAX_DIGITS:
        raise ToolFailed(f"A number has at most {MAX_DIGITS:,} places.")
    return _integer(lambda number: int(abs(number) + Fraction(1, 2)) * (-1 if number < 0 else 1), count)(value)


def _integer(run: Callable[[Fraction], int], places: int = 0) -> Callable[[Value], Value]:
    """Round to that many places. The result is exact if its digits are certain."""
    unit = Fraction(10) ** places

    def function(number: Fraction) -> Fraction:
        count = run(number * unit)
        is_exact = not isinstance(number, Rounded) or abs(count) < _CERTAIN
        return (Fraction if is_exact else Rounded)(count / unit)

    return _same(function)


@tracked
def _arrangements(count: Fraction, chosen: Fraction, ordered: bool = True) -> Fraction:
    """Permutations or combinations. Stops when the product is too large, after at most about 33,000 steps."""
    total, picked = whole(count, "What is counted"), whole(chosen, "What is counted")
    if min(total, picked) < 0:
        raise ToolFailed("What is counted can't be negative.")
    if picked > total:
        return Fraction(0)
    result = 1
    for step in range(picked if ordered else min(picked, total - picked)):
        result = result * (total - step) // (1 if ordered else step + 1)
        fitted(result)
    return Fraction(result)


def _sum(*values: Fraction) -> Fraction:
    return reduce(lambda one, two: fitted(one + two), values)


@tracked
def _each_fits(run: Callable[[int, int], int], *values: Fraction) -> Fraction:
    return reduce(lambda one, two: fitted(run(whole(one, "Each number"), whole(two, "Each number"))), values)


_FLOATS = "asin acos atan sinh cosh tanh asinh acosh atanh degrees radians"
FUNCTIONS = {
    **{name: Function(_machine(getattr(math, name))) for name in _FLOATS.split()},
    "atan2": Function(_machine(math.atan2), 2, 2),
    "sin": Function(_sin, units=True),
    "cos": Function(_cos, units=True),
    "tan": Function(_tan, units=True),
    "sqrt": Function(_square_root, units=True),
    "cbrt": Function(_cube_root, units=True),
    "hypot": Function(_hypotenuse, 2, _MANY),
    "log": Function(lambda value, base=Fraction(10): _logarithm(value, base), 1, 2),
    "log10": Function(lambda value: _logarithm(value, Fraction(10))),
    "log2": Function(lambda value: _logarithm(value, Fraction(2))),
    "ln": Function(_logarithm),
    "exp": Function(partial(in_decimal, Decimal.exp)),
    "round": Function(_round, 1, 2, units=True),
    "floor": Function(_integer(math.floor), units=True),
    "ceil": Function(_integer(math.ceil), units=True),
    "abs": Function(_same(abs), units=True),
    "min": Function(_same(lambda *values: min(values)), 1, _MANY, units=True),
    "max": Function(_same(lambda *values: max(values)), 1, _MANY, units=True),
    "sum": Function(_same(_sum), 1, _MANY, units=True),
    "mean": Function(_same(lambda *values: _sum(*values) / len(values)), 1, _MANY, units=True),
    "gcd": Function(partial(_each_fits, math.gcd), 2, _MANY),
    "lcm": Function(partial(_each_fits, math.lcm), 2, _MANY),
    "mod": Function(operator.mod, 2, 2),
    "factorial": Function(lambda value: _arrangements(value, value)),
    "comb": Function(partial(_arrangements, ordered=False), 2, 2),
    "perm": Function(_arrangements, 2, 2),
}
CONSTANTS = {
    name: Rounded(digits)
    for names, digits in (
        ("pi π", "3.141592653589793238462643383279503"),
        ("tau τ", "6.283185307179586476925286766559006"),
        ("e", "2.718281828459045235360287471352662"),
    )
    for name in names.split()
}
