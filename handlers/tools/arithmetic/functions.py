"""The functions and constants that an expression may name; there are no others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from handlers.tools.arithmetic import numbers
from handlers.tools.arithmetic.numbers import MOST_BITS, MOST_DIGITS, Number, decimal_of, float_of, too_large, whole
from routing.errors import ToolFailed

Takes = Literal["plain", "angle", "alike", "first"]
"""Numbers without units; one angle; quantities of one kind, whose unit the result has; one such and numbers."""
_MOST_ANGLE = 1e15
"""Above it a number of the machine does not know where on the circle it is."""
_MOST_FACTORIAL = 3_248
"""It has 9,998 digits, the next one 10,001."""


@dataclass(frozen=True, slots=True)
class Function:
    """`least` to `most` arguments; of a `root`, the unit is drawn as well."""

    run: Callable[[Sequence[Number]], Number]
    least: int = 1
    most: int = 1
    takes: Takes = "plain"
    root: int = 0


def _machine(run: Callable[..., float], most: float = 1e300) -> Callable[[Sequence[Number]], Number]:
    """A function of the machine's floating point: about 16 digits."""

    def called(values: Sequence[Number]) -> Number:
        try:
            return Decimal(run(*(float_of(value, most) for value in values)))
        except ValueError:
            raise ToolFailed("This function has no real result there: the number is outside its domain.") from None
        except OverflowError:
            raise too_large() from None

    return called


def _circular(run: Callable[[float], float]) -> Callable[[Sequence[Number]], Number]:
    """sin and cos: exactly 0 where only the rounding of π kept them from it."""

    def called(values: Sequence[Number]) -> Number:
        angle = float_of(values[0], _MOST_ANGLE)
        result = run(angle)
        return Fraction(0) if abs(result) < abs(angle) * 2**-52 and abs(angle) > 1 else Decimal(result)

    return called


_sin, _cos = _circular(math.sin), _circular(math.cos)


def _tan(values: Sequence[Number]) -> Number:
    below = _cos(values)
    if not below:
        raise ToolFailed("tan has no result there: it is infinite.")
    return numbers.over(_sin(values), below)


def _square_root(values: Sequence[Number]) -> Number:
    if values[0] < 0:
        raise ToolFailed("A negative number has no real square root.")
    return numbers.power(values[0], Fraction(1, 2))


def _cube_root(values: Sequence[Number]) -> Number:
    third = numbers.power(_absolute(values), Fraction(1, 3))
    return third if values[0] >= 0 else numbers.times(Fraction(-1), third)


def _absolute(values: Sequence[Number]) -> Number:
    return values[0] if values[0] >= 0 else numbers.times(Fraction(-1), values[0])


def _logarithm(values: Sequence[Number], base: Number | None = None) -> Number:
    value, base = values[0], values[1] if len(values) > 1 else base
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise ToolFailed("A logarithm takes a number above 0, and a base above 0 other than 1.")
    if base is None:
        return decimal_of(value).ln()
    if base == 10:
        return decimal_of(value).log10()
    return decimal_of(value).ln() / decimal_of(base).ln()


def _rounded(values: Sequence[Number]) -> Number:
    """Halves go away from zero, as people round."""
    places = whole(values[1], "The number of places") if len(values) > 1 else 0
    if abs(places) > MOST_DIGITS:
        raise ToolFailed(f"A number has at most {MOST_DIGITS:,} places.")
    value, unit = Fraction(values[0]), Fraction(10) ** places
    cut = math.floor(abs(value) * unit + Fraction(1, 2)) / unit
    return numbers.fitted(cut if value >= 0 else -cut)


def _factorial(values: Sequence[Number]) -> Number:
    count = _natural(values[0])
    if count > _MOST_FACTORIAL:
        raise too_large()
    return Fraction(math.factorial(count))


def _choices(values: Sequence[Number]) -> Number:
    """C(n, k) ≥ (n/k)^k, which is 2^k or more."""
    count, chosen = _natural(values[0]), _natural(values[1])
    if chosen > count:
        return Fraction(0)
    chosen = min(chosen, count - chosen)
    if chosen > MOST_BITS or chosen * (count.bit_length() - 1 - chosen.bit_length()) > MOST_BITS:
        raise too_large()
    return numbers.fitted(Fraction(math.comb(count, chosen)))


def _arrangements(values: Sequence[Number]) -> Number:
    """P(n, k) ≥ k!, and ≥ (n - k + 1)^k."""
    count, chosen = _natural(values[0]), _natural(values[1])
    if chosen > count:
        return Fraction(0)
    if chosen > _MOST_FACTORIAL or chosen * ((count - chosen + 1).bit_length() - 1) > MOST_BITS:
        raise too_large()
    return numbers.fitted(Fraction(math.perm(count, chosen)))


def _natural(value: Number) -> int:
    count = whole(value, "What is counted")
    if count < 0:
        raise ToolFailed("What is counted can't be negative.")
    return count


def _common(run: Callable[[int, int], int]) -> Callable[[Sequence[Number]], Number]:
    def called(values: Sequence[Number]) -> Number:
        result = 0 if run is math.gcd else 1
        for value in values:
            result = run(result, whole(value, "Each number"))
            numbers.fitted(Fraction(result))
        return Fraction(result)

    return called


def _sum(values: Sequence[Number]) -> Number:
    total: Number = Fraction(0)
    for value in values:
        total = numbers.plus(total, value)
    return total


def _mean(values: Sequence[Number]) -> Number:
    return numbers.over(_sum(values), Fraction(len(values)))


_MANY = 500
FUNCTIONS = {
    "sqrt": Function(_square_root, root=2),
    "cbrt": Function(_cube_root, root=3),
    "log": Function(lambda values: _logarithm(values, Fraction(10)), most=2),
    "log10": Function(lambda values: _logarithm(values, Fraction(10))),
    "log2": Function(lambda values: _logarithm(values, Fraction(2))),
    "ln": Function(_logarithm),
    "exp": Function(lambda values: decimal_of(values[0]).exp()),
    "sin": Function(_sin, takes="angle"),
    "cos": Function(_cos, takes="angle"),
    "tan": Function(_tan, takes="angle"),
    "asin": Function(_machine(math.asin)),
    "acos": Function(_machine(math.acos)),
    "atan": Function(_machine(math.atan)),
    "atan2": Function(_machine(math.atan2), 2, 2),
    "sinh": Function(_machine(math.sinh)),
    "cosh": Function(_machine(math.cosh)),
    "tanh": Function(_machine(math.tanh)),
    "asinh": Function(_machine(math.asinh)),
    "acosh": Function(_machine(math.acosh)),
    "atanh": Function(_machine(math.atanh)),
    "degrees": Function(_machine(math.degrees)),
    "radians": Function(_machine(math.radians)),
    "hypot": Function(lambda values: _square_root([_sum([numbers.times(each, each) for each in values])]), 2, _MANY),
    "round": Function(_rounded, most=2, takes="first"),
    "floor": Function(lambda values: Fraction(math.floor(values[0])), takes="alike"),
    "ceil": Function(lambda values: Fraction(math.ceil(values[0])), takes="alike"),
    "abs": Function(_absolute, takes="alike"),
    "min": Function(lambda values: min(values), most=_MANY, takes="alike"),
    "max": Function(lambda values: max(values), most=_MANY, takes="alike"),
    "sum": Function(_sum, most=_MANY, takes="alike"),
    "mean": Function(_mean, most=_MANY, takes="alike"),
    "gcd": Function(_common(math.gcd), 2, _MANY),
    "lcm": Function(_common(math.lcm), 2, _MANY),
    "mod": Function(lambda values: numbers.remainder(values[0], values[1]), 2, 2),
    "factorial": Function(_factorial),
    "comb": Function(_choices, 2, 2),
    "perm": Function(_arrangements, 2, 2),
}
CONSTANTS = {
    "pi": Decimal("3.141592653589793238462643383279503"),
    "π": Decimal("3.141592653589793238462643383279503"),
    "e": Decimal("2.718281828459045235360287471352662"),
    "tau": Decimal("6.283185307179586476925286766559006"),
    "τ": Decimal("6.283185307179586476925286766559006"),
}


def constant(name: str) -> Decimal | None:
    """In any case but for E, which people do not write for e."""
    return None if name == "E" else CONSTANTS.get(name.lower())
