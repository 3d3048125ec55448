"""The functions and constants that an expression may use."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from handlers.tools.calculator.numbers import MAX_DIGITS, approximate, decimal_of, fitted, power, whole
from handlers.tools.calculator.units import Value, apply, bounded, converted, find, number_of, plain, quantity, raised
from routing.errors import ToolFailed

_MAX_ANGLE = 1e15
"""A larger float is too imprecise for an angle."""
_MAX_FLOAT = 1e300
_MANY = 500


@dataclass(frozen=True, slots=True)
class Function:
    """Takes `least` to `most` arguments; `units`: they may have units."""

    run: Callable[..., Value]
    least: int = 1
    most: int = 1
    units: bool = False


def call(name: str, values: list[Value]) -> Value:
    """Call a function. Raises ToolFailed for invalid arguments."""
    function = FUNCTIONS[name]
    least, most = function.least, function.most
    if not least <= len(values) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        comma = " Inside a function a comma separates arguments: write 1234 for 1,234." if len(values) > most else ""
        raise ToolFailed(f"{name} takes {wanted} argument{'s' if most > 1 else ''}, not {len(values)}.{comma}")
    if not function.units:
        values = [plain(value, f"An argument of {name}") for value in values]
    return bounded(function.run(*values))


def _same(run: Callable[..., Fraction | int]) -> Callable[..., Value]:
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
            return approximate(run(*map(_float, values)))
        except ValueError:
            raise ToolFailed("This function has no real result there: the number is outside its domain.") from None

    return function


def _circular(run: Callable[[float], float]) -> Callable[[Value], Fraction]:
    """sin or cos; exactly 0 where only the rounding of π prevents it."""

    def function(value: Value) -> Fraction:
        if not isinstance(value, Fraction):
            value = converted(apply(operator.mod, value, 360 * find("degree")), Fraction(1))
        angle = _float(value, _MAX_ANGLE)
        result = run(angle)
        return Fraction(0) if abs(result) < abs(angle) * 2**-52 and abs(angle) > 1 else approximate(result)

    return function


_sin, _cos = _circular(math.sin), _circular(math.cos)


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
    if base == 10:
        return Fraction(decimal_of(value).log10())
    return Fraction(decimal_of(value).ln() / (decimal_of(base).ln() if base else 1))


def _round(value: Value, places: Value = Fraction(0)) -> Value:
    """Round halves away from zero."""
    count = whole(plain(places, "The number of places"), "The number of places")
    if abs(count) > MAX_DIGITS:
        raise ToolFailed(f"A number has at most {MAX_DIGITS:,} places.")
    return _same(lambda number: _rounded(number, Fraction(10) ** count))(value)


def _rounded(number: Fraction, unit: Fraction) -> Fraction:
    size = math.floor(abs(Fraction(number)) * unit + Fraction(1, 2)) / unit
    return size if number >= 0 else -size


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


def _mean(*values: Fraction) -> Fraction:
    return _sum(*values) / len(values)


def _each_fits(run: Callable[[int, int], int]) -> Callable[..., Fraction]:
    def function(*values: Fraction) -> Fraction:
        return reduce(lambda one, two: fitted(run(whole(one, "Each number"), whole(two, "Each number"))), values)

    return function


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
    "exp": Function(lambda value: Fraction(decimal_of(value).exp())),
    "round": Function(_round, 1, 2, units=True),
    "floor": Function(_same(math.floor), units=True),
    "ceil": Function(_same(math.ceil), units=True),
    "abs": Function(_same(abs), units=True),
    "min": Function(_same(lambda *values: min(values)), 1, _MANY, units=True),
    "max": Function(_same(lambda *values: max(values)), 1, _MANY, units=True),
    "sum": Function(_same(_sum), 1, _MANY, units=True),
    "mean": Function(_same(_mean), 1, _MANY, units=True),
    "gcd": Function(_each_fits(math.gcd), 2, _MANY),
    "lcm": Function(_each_fits(math.lcm), 2, _MANY),
    "mod": Function(operator.mod, 2, 2),
    "factorial": Function(lambda value: _arrangements(value, value)),
    "comb": Function(lambda count, chosen: _arrangements(count, chosen, ordered=False), 2, 2),
    "perm": Function(_arrangements, 2, 2),
}
CONSTANTS = {
    name: Fraction(digits)
    for names, digits in (
        ("pi π", "3.141592653589793238462643383279503"),
        ("tau τ", "6.283185307179586476925286766559006"),
        ("e", "2.718281828459045235360287471352662"),
    )
    for name in names.split()
}


def constant(name: str) -> Fraction | None:
    """The value of a constant in upper or lower case, except that E is not Euler's number; None if there is none."""
    return None if name == "E" else CONSTANTS.get(name.lower())
