"""Parses and evaluates expressions.

Operators from lowest to highest precedence: < > =, `in` a unit, << >>, + -, * / // % mod of, signs, ^, ! and %, a
number with its units.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from handlers.tools.calculator import units
from handlers.tools.calculator.functions import CONSTANTS, FUNCTIONS, call
from handlers.tools.calculator.numbers import Percent, Rounded, percentage, power, whole
from handlers.tools.calculator.tokens import IN, Token, tokens_of
from handlers.tools.calculator.units import Value, apply, converted, number_of, plain, raised
from routing.errors import ToolFailed

_MAX_NESTING = 40
"""Maximum nesting of brackets, signs and powers."""
_STYLES = {"hex": "hex", "binary": "binary", "bin": "binary", "octal": "octal", "oct": "octal", "%": "%"}
_COMPARISONS = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0), "=": (0,), "==": (0,), "!=": (-1, 1)}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "squared": 2, "cubed": 3}
_WITH_POWER = re.compile(r"(\D+)([23])")
_TOLERANCE = Fraction(1, 10**14)
"""Relative difference below which two numbers are equal, unless both are exact."""


def _alike(run: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    """An operation on values of the same dimension, in the unit of the left one. 200 + 10% is 220, as on a pocket
    calculator; 5% + 10% is 15%."""
    if isinstance(right, Percent) and not isinstance(left, Percent) and run in (operator.add, operator.sub):
        right = _times(left, right)
    return apply(run, left, converted(right, left))


def _shifted(run: Callable[[Any, Any], Any], left: Value, right: Value) -> Value:
    for each in (left, right):
        whole(plain(each, "Each side of a shift"), "Each side of a shift")
    return apply(run, left, power(Fraction(2), right))


def _compare(left: Value, right: Value) -> int:
    """-1, 0 or 1: less, equal or more."""
    one, two = number_of(left), number_of(converted(right, left))
    difference = one - two
    if isinstance(difference, Rounded) and abs(difference) <= _TOLERANCE * max(abs(one), abs(two)):
        return 0
    return (one > two) - (one < two)


_times = partial(apply, operator.mul)
_TIGHTEST = 4
_OPERATORS: dict[str, tuple[int, Callable[[Value, Value], Value]]] = {
    "in": (1, converted),
    "<<": (2, partial(_shifted, operator.mul)),
    ">>": (2, partial(_shifted, operator.floordiv)),
    "+": (3, partial(_alike, operator.add)),
    "-": (3, partial(_alike, operator.sub)),
    "*": (_TIGHTEST, _times),
    "of": (_TIGHTEST, _times),
    "/": (_TIGHTEST, partial(apply, operator.truediv)),
    "//": (_TIGHTEST, partial(_alike, operator.floordiv)),
    "%": (_TIGHTEST, partial(_alike, operator.mod)),
    "mod": (_TIGHTEST, partial(_alike, operator.mod)),
}
"""The level of precedence and the operation of each operator."""


class Parser:
    """Evaluates one expression. Afterwards `style` is the requested format, such as hex, and `spellings` maps units to
    the words used for them."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._at = 0
        self._nesting = 0
        self.style = ""
        self.spellings: dict[str, str] = {}

    def value(self) -> Value:
        """The value; a bool for a comparison. Raises ToolFailed for an invalid or undefined expression."""
        value = self._expression()
        if sign := self._accept(*_COMPARISONS):
            value = _compare(value, self._expression()) in _COMPARISONS[sign]
        if self._now.kind != "end":
            raise self._unexpected()
        return value

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, *signs: str) -> str:
        return self._take().text if self._now.kind == "sign" and self._now.text in signs else ""

    def _expression(self, level: int = 1) -> Value:
        """Evaluate operators of this precedence and above."""
        value, sign, tightest = self._signed(), "", _TIGHTEST
        while True:
            found, operation = _OPERATORS.get(self._now.text, (0, _times)) if self._now.kind == "sign" else (0, _times)
            if found and level <= found <= tightest:
                sign = self._take().text
                if sign == "in":
                    value, tightest = self._conversion(value), found
                else:
                    value = operation(value, self._expression(found + 1))
            elif level > _TIGHTEST or not self._is_factor(self._now):
                return value
            elif sign in ("/", "//", "%", "mod"):
                raise ToolFailed("The order is unclear: write a * sign and brackets, as in 6/(2*(1+2)).")
            else:
                value = _times(value, self._signed())

    def _is_factor(self, token: Token) -> bool:
        """Whether a factor without a sign begins here, such as the π in 2π."""
        return token.kind in ("constant", "function", "unit") or token.text in ("(", "√")

    def _conversion(self, value: Value) -> Value:
        style = _STYLES.get(self._now.text.lower(), "")
        if style and self._tokens[self._at + 1].kind == "end":
            self._take()
            self.style = style
            return value
        target = self._expression(_TIGHTEST)
        if isinstance(target, Fraction) or target.magnitude != 1:
            raise ToolFailed("Only a unit may follow `in` or `to`, such as: 5 km in miles.")
        return converted(value, target)

    def _signed(self, is_exponent: bool = False) -> Value:
        """A unit after an exponent is not part of it: 10^3 km is 1000 km."""
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            raise ToolFailed(f"More than {_MAX_NESTING} nested brackets, signs or powers: use fewer.")
        sign = self._accept("-", "+", "√")
        if sign:
            value = self._signed(is_exponent)
            if sign == "√":
                value = call("sqrt", [value])
            elif sign == "-":
                value = percentage(-value) if isinstance(value, Percent) else -value
        else:
            value = self._completed(is_exponent)
            if self._accept("^", "**"):
                value = raised(value, self._signed(is_exponent=True))
        self._nesting -= 1
        return value

    def _completed(self, is_exponent: bool) -> Value:
        value = self._value(is_exponent)
        while self._now.text == "!" or (self._now.text == "%" and not self._is_operand(self._tokens[self._at + 1])):
            if self._take().text == "!":
                value = call("factorial", [value])
            else:
                value = percentage(plain(value, "A percentage") / 100)
        return value

    def _is_operand(self, token: Token) -> bool:
        """Whether a % before this token is the remainder rather than a percentage."""
        return token.kind in ("number", "constant", "function", "unit") or token.text in ("(", "mod")

    def _value(self, is_exponent: bool) -> Value:
        kind = self._now.kind
        if kind == "number":
            number = self._take().value
            return number if is_exponent or self._now.kind != "unit" else self._amount(number)
        if kind == "constant":
            return self._take().value
        if kind == "unit":
            return self._unit()
        if kind == "function":
            name = self._take().text
            self._take()
            values = [] if self._now.text == ")" else [self._expression()]
            while self._accept(",", ";"):
                values.append(self._expression())
            self._close()
            return call(name, values)
        if self._accept("("):
            value = self._expression()
            self._close()
            return value
        raise self._unexpected()

    def _close(self) -> None:
        if not self._accept(")"):
            raise ToolFailed("A ( is not closed.") if self._now.kind == "end" else self._unexpected()

    def _amount(self, number: Fraction) -> Value:
        """A number with its units, which bind tighter than * and /, or a sum such as 3 h 20 min."""
        value = units.quantity(number, self._unit().units)
        while self._now.kind == "number" and self._tokens[self._at + 1].kind == "unit":
            more = self._take()
            part = units.quantity(more.value, self._unit().units)
            try:
                value = _alike(operator.add, value, part)
            except ToolFailed:
                raise ToolFailed(f"An operator such as * or + is missing before {more.text}.") from None
        return value

    def _unit(self) -> Value:
        """One or more adjacent units, each with its power."""
        unit: Value = None
        while self._now.kind == "unit":
            exponent = Fraction(1)
            if self._tokens[self._at + 1].kind == "unit":
                exponent *= self._power_word("square", "sq", "cubic", "cu")
            one = self._named_unit()
            exponent *= self._power_word("squared", "cubed")
            if self._accept("^", "**"):
                exponent = exponent * plain(self._signed(is_exponent=True), "An exponent")
            one = one if exponent == 1 else raised(one, exponent)
            unit = one if unit is None else units.quantity(Fraction(1), unit.units * one.units)
        return unit

    def _power_word(self, *words: str) -> int:
        return _POWERS[self._take().text.lower()] if self._now.text.lower() in words else 1

    def _named_unit(self) -> Value:
        first = self._take().text
        found = units.find_pair(first, self._now.text) if self._now.kind == "unit" else None
        if found is not None:
            return self._spelled(found, f"{first} {self._take().text}")
        if (found := units.find(first)) is not None:
            return self._spelled(found, first)
        with_power = _WITH_POWER.fullmatch(first)
        if with_power and (found := units.find(with_power[1])) is not None:
            return raised(self._spelled(found, with_power[1]), Fraction(with_power[2]))
        if first.lower() in FUNCTIONS:
            raise ToolFailed(f"{first} is a function and needs brackets: {first.lower()}(2).")
        near = units.similar(first, (*FUNCTIONS, *CONSTANTS))
        hint = f"Did you mean {' or '.join(near)}?" if near else "Only numbers, functions and units can be named."
        raise ToolFailed(f"{first[:60]} is not a function, constant or unit. {hint}")

    def _spelled(self, unit: Value, written: str) -> Value:
        self.spellings[str(unit.units)] = written
        return unit

    def _unexpected(self) -> ToolFailed:
        token, before = self._now, self._tokens[self._at - 1].text if self._at else ""
        if token.kind == "end":
            problem = (
                f"The expression ends after {before}: a value is missing." if before else "The expression is empty."
            )
        elif token.text == ")":
            problem = f"A value is missing between {before} and )." if before in "+-*/^(" else "There is a ) too many."
        elif token.text == ",":
            problem = "A comma only groups thousands (1,234) and separates arguments: write 1.5 for one and a half."
        elif token.kind != "sign":
            problem = f"An operator such as * or + is missing before {token.text[:60]}."
        else:
            problem = (
                f"{token.text} is not expected after {before}." if before else f"Nothing begins with {token.text}."
            )
            if IN in self._tokens[: self._at]:
                problem += " Put brackets around a conversion that is only a part."
        return ToolFailed(problem)
