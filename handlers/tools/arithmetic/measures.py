"""Numbers with units as people write them: 5 km, 3 h 20 min, 9.81 m/s^2, 5 ft 3 in, square feet."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from handlers.tools.arithmetic.functions import CONSTANTS, FUNCTIONS, constant
from handlers.tools.arithmetic.numbers import Number
from handlers.tools.arithmetic.quantities import Quantity, Reckoning
from handlers.tools.arithmetic.tokens import Cursor, Token
from handlers.tools.arithmetic.units import Unit, product, raised
from routing.errors import ToolFailed

INTO = ("in", "to", "as", "into", "->")
_INCH = "in"
_KEYWORDS = (*INTO, "of", "mod")
_BEFORE = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_BEHIND = {"squared": 2, "cubed": 3}
_DEGREES = ("deg", "degree", "degrees")
_TOGETHER = {"fl_oz": "fluid_ounce"}
_WITH_POWER = re.compile(r"(\D+)([23])")


class Measures:
    """Reads units from the cursor; `exponent` reads what follows a ^. `spellings` are the words that were used."""

    def __init__(self, cursor: Cursor, reckoning: Reckoning, exponent: Callable[[], Quantity]) -> None:
        self._cursor = cursor
        self._reckoning = reckoning
        self._units = reckoning.units
        self._exponent = exponent
        self.spellings: dict[str, str] = {}

    def amount(self, number: Number) -> Quantity:
        """The number just read, with the units behind it: side by side they bind closer than * and /."""
        if not self._unit_at(0, behind_number=True):
            return Quantity(number)
        value = Quantity(number, self.unit())
        while self._cursor.now.kind == "number" and self._unit_at(1, behind_number=True):
            more = self._cursor.take()
            part = Quantity(more.value, self.unit())
            if (
                self._units.has_own_zero(value.unit)
                or self._units.line(value.unit)[2] != self._units.line(part.unit)[2]
            ):
                raise ToolFailed(f"An operator such as * or + is missing before {more.text}.")
            value = self._reckoning.add(value, part)
        return value

    def unit(self) -> Unit:
        """One or more units side by side, each with its power; the word `in` is inches when it comes first."""
        unit = self._factor()
        while self._unit_at(0):
            unit = product(unit, self._factor())
        return unit

    def begins(self) -> bool:
        """Whether a unit comes next."""
        return self._unit_at(0)

    def _unit_at(self, steps: int, behind_number: bool = False) -> bool:
        token, following = self._cursor.ahead(steps), self._cursor.ahead(steps + 1)
        if token.kind != "name" or constant(token.text) is not None:
            return False
        if behind_number and token.text == _INCH:
            return not (following.kind in ("name", "number") or following.text in ("%", "(")) or self._is_into(
                following
            )
        called = token.text.lower() in FUNCTIONS and following.text == "("
        return token.text.lower() not in _KEYWORDS and not called

    def _is_into(self, token: Token) -> bool:
        return token.kind == "name" and token.text.lower() in INTO

    def _factor(self) -> Unit:
        before = _BEFORE.get(self._cursor.now.text.lower(), 1)
        if before > 1 and self._unit_at(1):
            self._cursor.take()
        else:
            before = 1
        unit = raised(self._named(), Fraction(before))
        behind = _BEHIND.get(self._cursor.now.text.lower(), 1)
        if behind > 1:
            self._cursor.take()
        unit = raised(unit, Fraction(behind))
        if not self._cursor.accept("^", "**"):
            return unit
        exponent = self._exponent().plain("An exponent")
        if not isinstance(exponent, Fraction):
            raise ToolFailed("A unit can only have a whole number or a fraction for its exponent.")
        return raised(unit, exponent)

    def _named(self) -> Unit:
        """The unit of the next name, or of the next two, such as nautical miles."""
        first, second = self._cursor.take().text, ""
        if self._unit_at(0) and min(len(first), len(self._cursor.now.text)) > 1:
            second = self._cursor.now.text  # of one letter they are two: N A are newton and ampere, not Avogadro's
        both = f"{first}_{second}"
        found = self._units.degrees(second) if second and first.lower() in _DEGREES else None
        found = found or (self._units.find(_TOGETHER.get(both.lower(), both)) if second else None)
        if found:
            self._cursor.take()
            return self._spelled(found, f"{first} {second}")
        power = _WITH_POWER.fullmatch(first)
        if found := self._units.find(first):
            return self._spelled(found, first)
        if power and (found := self._units.find(power[1])):
            return raised(self._spelled(found, power[1]), Fraction(power[2]))
        raise self._unknown(first)

    def _spelled(self, found: str, written: str) -> Unit:
        self.spellings[found] = written
        return ((found, Fraction(1)),)

    def _unknown(self, name: str) -> ToolFailed:
        if name.lower() in FUNCTIONS:
            return ToolFailed(f"{name} is a function and needs brackets: {name.lower()}(2).")
        near = self._units.near(name, (*FUNCTIONS, *CONSTANTS))
        hint = f" Did you mean {' or '.join(near)}?" if near else " Only numbers, functions and units can be named."
        return ToolFailed(f"{name[:60]} is not a function, constant or unit.{hint}")
