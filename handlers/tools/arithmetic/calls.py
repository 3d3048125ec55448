"""A function of the table, called with quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from handlers.tools.arithmetic import numbers
from handlers.tools.arithmetic.functions import FUNCTIONS, Function
from handlers.tools.arithmetic.quantities import Quantity, Reckoning
from handlers.tools.arithmetic.units import PLAIN, Unit
from routing.errors import ToolFailed

_DEGREE: Unit = (("degree", Fraction(1)),)


def called(name: str, values: Sequence[Quantity], reckoning: Reckoning) -> Quantity:
    """Raises ToolFailed for arguments that the function does not take."""
    function = FUNCTIONS[name]
    if not function.least <= len(values) <= function.most:
        raise ToolFailed(_count(name, function, len(values)))
    unit = values[0].unit
    if function.root and unit:
        return replace(reckoning.power(values[0], Quantity(Fraction(1, function.root))))
    if function.takes == "angle":
        return Quantity(function.run([_angle(values[0], reckoning)]))
    if function.takes == "alike":
        return Quantity(function.run([reckoning.converted(value, unit).number for value in values]), unit)
    if function.takes == "first":
        more = [value.plain(f"The second argument of {name}") for value in values[1:]]
        return Quantity(function.run([values[0].number, *more]), unit)
    return Quantity(function.run([value.plain(f"An argument of {name}") for value in values]))


def _angle(value: Quantity, reckoning: Reckoning) -> numbers.Number:
    """In radians; whole turns in degrees are taken off while they are exact."""
    if value.unit == _DEGREE:
        value = Quantity(numbers.remainder(value.number, Fraction(360)), _DEGREE)
    return reckoning.converted(value, PLAIN).number


def _count(name: str, function: Function, given: int) -> str:
    least, most = function.least, function.most
    wanted = f"{least}" if least == most else f"{least} to {most}"
    comma = " Inside a function a comma separates arguments: write 1234 for 1,234." if given > most else ""
    return f"{name} takes {wanted} argument{'s' if most > 1 else ''}, not {given}.{comma}"
