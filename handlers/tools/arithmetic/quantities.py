"""A number with its unit, and arithmetic with both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from handlers.tools.arithmetic import numbers
from handlers.tools.arithmetic.numbers import Number, decimal_of
from handlers.tools.arithmetic.units import PLAIN, Unit, Units, product, raised
from routing.errors import ToolFailed

_SAME = Fraction(1, 10**14)
"""Two numbers are the same when they differ by less than this part of the larger, unless both are exact."""
_ANGLE: Unit = (("radian", Fraction(1)),)


@dataclass(frozen=True, slots=True)
class Quantity:
    """`percent`: it was written with %, and what it is added to decides what it is a part of."""

    number: Number
    unit: Unit = PLAIN
    percent: bool = False

    def plain(self, what: str) -> Number:
        """The number; raises ToolFailed, naming `what`, when there is a unit."""
        if self.unit:
            raise ToolFailed(f"{what} must be a number without a unit.")
        return self.number


class Reckoning:
    """Arithmetic that knows the units. Everything raises ToolFailed for what has no result."""

    def __init__(self, units: Units) -> None:
        self.units = units

    def add(self, left: Quantity, right: Quantity, sign: int = 1) -> Quantity:
        """In the unit of `left`. 200 + 10% is 220, as on a pocket calculator; 5% + 10% is 15%."""
        if right.percent and not left.percent:
            part = numbers.plus(Fraction(1), numbers.times(Fraction(sign), right.number))
            return self.multiply(left, Quantity(part))
        self._refuse_own_zero(left, right)
        other = self.converted(right, left.unit).number
        return Quantity(numbers.plus(left.number, numbers.times(Fraction(sign), other)), left.unit)

    def multiply(self, left: Quantity, right: Quantity) -> Quantity:
        self._refuse_own_zero(left, right)
        return self._reduced(Quantity(numbers.times(left.number, right.number), product(left.unit, right.unit)))

    def divide(self, left: Quantity, right: Quantity) -> Quantity:
        self._refuse_own_zero(left, right)
        return self._reduced(Quantity(numbers.over(left.number, right.number), product(left.unit, right.unit, -1)))

    def divide_down(self, left: Quantity, right: Quantity) -> Quantity:
        """How many whole times `right` is in `left`."""
        return Quantity(numbers.floor_over(left.number, self.converted(right, left.unit).number))

    def remainder(self, left: Quantity, right: Quantity) -> Quantity:
        return Quantity(numbers.remainder(left.number, self.converted(right, left.unit).number), left.unit)

    def power(self, base: Quantity, exponent: Quantity) -> Quantity:
        raise_to = exponent.plain("An exponent")
        if not base.unit:
            return Quantity(numbers.power(base.number, raise_to))
        if not isinstance(raise_to, Fraction):
            raise ToolFailed("A unit can only have a whole number or a fraction for its exponent.")
        self._refuse_own_zero(base)
        unit = raised(base.unit, raise_to)
        return Quantity(numbers.power(base.number, raise_to), unit)

    def negative(self, value: Quantity) -> Quantity:
        return replace(value, number=numbers.times(Fraction(-1), value.number))

    def converted(self, value: Quantity, unit: Unit) -> Quantity:
        """The same in another unit. A plain number is taken for an angle in radians, and the other way round."""
        if value.unit == unit:
            return value
        step, zero, base = self.units.line(value.unit)
        wanted_step, wanted_zero, wanted = self.units.line(unit)
        if base != wanted and {base, wanted} != {PLAIN, _ANGLE}:
            raise ToolFailed(self._strangers(value.unit, unit))
        number = numbers.plus(numbers.times(value.number, step), zero - wanted_zero)
        return Quantity(numbers.over(number, wanted_step), unit)

    def compare(self, left: Quantity, right: Quantity) -> int:
        """-1, 0 or 1, as `left` is less, the same or more."""
        one, other = left.number, self.converted(right, left.unit).number
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return (one > other) - (one < other)
        first, second = decimal_of(one), decimal_of(other)
        if abs(first - second) <= decimal_of(_SAME) * max(abs(first), abs(second)):
            return 0
        return 1 if first > second else -1

    def _reduced(self, value: Quantity) -> Quantity:
        """Units of one kind that stand above and below the line cancel out: 100 km/h * 30 min is 50 km."""
        number, powers = value.number, dict(value.unit)
        for name in list(powers):
            for other in list(powers):
                if name == other or powers[name] * powers[other] >= 0:
                    continue
                step, base = self.units.scale(((name, Fraction(1)),))
                other_step, other_base = self.units.scale(((other, Fraction(1)),))
                if base != other_base or powers[other].denominator != 1:
                    continue
                number = numbers.times(number, numbers.power(other_step / step, powers[other]))
                powers[name] += powers[other]
                powers[other] = Fraction(0)
        return Quantity(number, tuple((name, power) for name, power in powers.items() if power))

    def _refuse_own_zero(self, *values: Quantity) -> None:
        for value in values:
            if value.unit and self.units.has_own_zero(value.unit):
                named = spelled(value.unit)
                raise ToolFailed(f"{named} has an offset zero: only convert or compare it, or calculate in K.")

    def _strangers(self, unit: Unit, wanted: Unit) -> str:
        one, other = (
            f"{spelled(each)} ({self.units.kind(each)})" if each else "a plain number" for each in (unit, wanted)
        )
        temperatures = {name for name, _ in (*unit, *wanted)} & {"farad", "coulomb"}
        hint = " For temperatures write °C and °F." if temperatures else ""
        return f"{one} and {other} can't be combined.{hint}"


def spelled(unit: Unit, names: dict[str, str] | None = None) -> str:
    """A unit as it may be written again: `km/h`, `kg m/s^2`; `names` are what to call each."""
    below = "".join("/" + _row([each], -1, names or {}) for each in unit if each[1] < 0)
    return (_row(unit, 1, names or {}) or "1") + below


def _row(unit: Iterable[tuple[str, Fraction]], sign: int, names: dict[str, str]) -> str:
    powers = [(names.get(name, name), exponent * sign) for name, exponent in unit if exponent * sign > 0]
    return " ".join(name if power == 1 else f"{name}^{_exponent(power)}" for name, power in powers)


def _exponent(power: Fraction) -> str:
    return str(power) if power.denominator == 1 else f"({power})"
