"""The grammar. An expression is worked out while it is read, so nothing is held that could grow.

From loose to close: < > =, `in` a unit, << >>, + -, * / // % mod of, signs, ^, ! and %, a number with its units.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from handlers.tools.arithmetic import numbers
from handlers.tools.arithmetic.calls import called
from handlers.tools.arithmetic.functions import FUNCTIONS, constant
from handlers.tools.arithmetic.measures import INTO, Measures
from handlers.tools.arithmetic.quantities import Quantity, Reckoning
from handlers.tools.arithmetic.tokens import Cursor, Token, tokens_of
from routing.errors import ToolFailed

MOST_NESTED = 40
"""Brackets, signs and powers within each other."""
STYLES = {"hex": "hex", "binary": "binary", "bin": "binary", "octal": "octal", "oct": "octal", "%": "%"}
_COMPARISONS = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0), "=": (0,), "==": (0,), "!=": (-1, 1)}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came out; `style` is how the person wants it written, `spellings` are their words for units."""

    value: Quantity | bool
    style: str
    spellings: dict[str, str]


class Parser:
    """Reads one expression."""

    def __init__(self, text: str, reckoning: Reckoning) -> None:
        self._cursor = Cursor(tokens_of(text))
        self._reckoning = reckoning
        self._measures = Measures(self._cursor, reckoning, self._exponent)
        self._nested = 0
        self._in_exponent = False
        self._style = ""
        self._converted = False

    def answer(self) -> Answer:
        """Raises ToolFailed for what is no expression or has no result."""
        left = self._conversion()
        value: Quantity | bool = left
        if sign := self._cursor.accept(*_COMPARISONS):
            value = self._reckoning.compare(left, self._conversion()) in _COMPARISONS[sign]
        if self._cursor.now.kind != "end":
            raise self._unexpected()
        return Answer(value, self._style, self._measures.spellings)

    def _conversion(self) -> Quantity:
        value = self._shift()
        while self._cursor.accept(*INTO):
            self._converted = True
            style = STYLES.get(self._cursor.now.text.lower(), "")
            if style and self._cursor.ahead(1).kind == "end":
                self._cursor.take()
                self._style = style
            else:
                value = self._reckoning.converted(value, self._target().unit)
        return value

    def _target(self) -> Quantity:
        if self._cursor.now.text == "in":  # inches: 5 cm in in
            return Quantity(Fraction(1), self._measures.unit())
        target = self._product()
        if target.number != 1 or not target.unit:
            raise ToolFailed("Only a unit may follow `in` or `to`, such as: 5 km in miles.")
        return target

    def _shift(self) -> Quantity:
        value = self._sum()
        while sign := self._cursor.accept("<<", ">>"):
            number = numbers.whole(value.plain("What is shifted"), "What is shifted")
            places = numbers.whole(self._sum().plain("A shift"), "A shift")
            factor = numbers.power(Fraction(2), Fraction(places))
            run = numbers.times if sign == "<<" else numbers.floor_over
            value = Quantity(run(Fraction(number), factor))
        return value

    def _sum(self) -> Quantity:
        value = self._product()
        while sign := self._cursor.accept("+", "-"):
            value = self._reckoning.add(value, self._product(), -1 if sign == "-" else 1)
        return value

    def _product(self) -> Quantity:
        value, divided = self._signed(), False
        while True:
            sign = self._cursor.accept("*", "/", "//", "%", "mod", "of")
            if sign in ("*", "of"):
                value, divided = self._reckoning.multiply(value, self._signed()), False
            elif sign == "/":
                value, divided = self._reckoning.divide(value, self._signed()), True
            elif sign == "//":
                value, divided = self._reckoning.divide_down(value, self._signed()), True
            elif sign:
                value, divided = self._reckoning.remainder(value, self._signed()), True
            elif not self._value_begins():
                return value
            elif divided:
                raise ToolFailed("The order is unclear: write a * sign and brackets, as in 6/(2*(1+2)).")
            else:
                value = self._reckoning.multiply(value, self._raised())

    def _value_begins(self) -> bool:
        """Something that the value before it is multiplied with, such as the π in 2π."""
        now = self._cursor.now
        return now.text in ("(", "√") or (now.kind == "name" and (self._function_comes() or self._named_begins(now)))

    def _named_begins(self, token: Token) -> bool:
        return constant(token.text) is not None or self._measures.begins()

    def _signed(self) -> Quantity:
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise ToolFailed(f"More than {MOST_NESTED} nested brackets, signs or powers: use fewer.")
        try:
            if self._cursor.accept("-"):
                return self._reckoning.negative(self._signed())
            return self._signed() if self._cursor.accept("+") else self._raised()
        finally:
            self._nested -= 1

    def _raised(self) -> Quantity:
        if self._cursor.accept("√"):
            return called("sqrt", [self._signed()], self._reckoning)
        base = self._completed()
        return self._reckoning.power(base, self._exponent()) if self._cursor.accept("^", "**") else base

    def _exponent(self) -> Quantity:
        """Units behind its number are not its own: 10^3 km are 1000 km."""
        outside, self._in_exponent = self._in_exponent, True
        value = self._signed()
        self._in_exponent = outside
        return value

    def _bracketed(self) -> Quantity:
        outside, self._in_exponent = self._in_exponent, False
        value = self._conversion()
        self._in_exponent = outside
        return value

    def _completed(self) -> Quantity:
        value = self._value()
        while self._cursor.now.text == "!" or (self._cursor.now.text == "%" and not self._operand_follows()):
            if self._cursor.take().text == "!":
                value = called("factorial", [value], self._reckoning)
            else:
                value = Quantity(numbers.over(value.plain("A percentage"), Fraction(100)), percent=True)
        return value

    def _operand_follows(self) -> bool:
        """Whether % stands between two values, and means the remainder."""
        token = self._cursor.ahead(1)
        return token.kind == "number" or token.text == "(" or (token.kind == "name" and token.text not in (*INTO, "of"))

    def _value(self) -> Quantity:
        token = self._cursor.now
        if token.kind == "number":
            number = self._cursor.take().value
            return Quantity(number) if self._in_exponent else self._measures.amount(number)
        if self._cursor.accept("("):
            value = self._bracketed()
            self._close()
            return value
        if self._function_comes():
            return self._function()
        if token.kind == "name" and (named := constant(token.text)) is not None:
            self._cursor.take()
            return Quantity(named)
        if self._measures.begins():
            return Quantity(Fraction(1), self._measures.unit())
        raise self._unexpected()

    def _function_comes(self) -> bool:
        return self._cursor.now.text.lower() in FUNCTIONS and self._cursor.ahead(1).text == "("

    def _function(self) -> Quantity:
        name = self._cursor.take().text.lower()
        self._cursor.take()
        values = [] if self._cursor.now.text == ")" else [self._bracketed()]
        while self._cursor.accept(",", ";"):
            values.append(self._bracketed())
        self._close()
        return called(name, values, self._reckoning)

    def _close(self) -> None:
        if not self._cursor.accept(")"):
            raise ToolFailed("A ( is not closed.") if self._cursor.now.kind == "end" else self._unexpected()

    def _unexpected(self) -> ToolFailed:
        token, before = self._cursor.now, self._cursor.ahead(-1).text
        if token.kind == "end":
            told = f"The expression ends after {before}: a value is missing." if before else "The expression is empty."
        elif token.text == ")":
            told = f"A value is missing between {before} and )." if before in "+-*/^(" else "There is a ) too many."
        elif token.text == ",":
            told = "A comma only groups thousands (1,234) and separates arguments: write 1.5 for one and a half."
        elif token.kind == "number" or token.kind == "name":
            told = f"An operator such as * or + is missing before {token.text[:60]}."
        else:
            told = f"{token.text} is not expected after {before}." if before else f"Nothing begins with {token.text}."
            told += " Put brackets around a conversion that is only a part." if self._converted else ""
        return ToolFailed(told)
