"""Splits an expression into numbers, names and operators."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from handlers.tools.calculator.functions import CONSTANTS, FUNCTIONS
from handlers.tools.calculator.numbers import MAX_DIGITS, TOO_LARGE, TOO_SMALL, fitted
from routing.errors import ToolFailed

_ALIKE = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "≠": "!=", "→": "->"}
    | {"²": "^2", "³": "^3", "’": "'", "\u00a0": " ", "\u202f": " ", "\u2009": " "}
)
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_DECIMAL = rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?[0-9]+)?"
_BASED = r"0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+"
_HALF = r"[eE](?![\w°])(?!\s*(?:\^|\*\*))"
"""An incomplete exponent, as in 2e alone. 2e^3 is a product with Euler's number."""
_NAME = r"(?:[^\W\d]|°)[\w°]*"
_SIGN = r"\*\*|//|<<|>>|<=|>=|==|!=|->|[-+*/%^!()<>=,;√]"
_WORDS = {"percent": "%", "pct": "%", "x": "*", "per": "/", "of": "of", "mod": "mod"}
_WORDS |= dict.fromkeys(("in", "to", "as", "into", "->"), "in")
_INCHES = re.compile(r"(?!\s*(?!(?:in|to|as|into|x|per)\b)[\w°.%(])", re.IGNORECASE)
"""What follows `5 in` if it means inches; 5 in km is a conversion."""


def _pattern(marks: str) -> re.Pattern[str]:
    grouped = rf"[0-9]{{1,3}}(?P<mark>[{marks}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*(?![0-9])(?:\.[0-9]+)?"
    number = rf"(?P<number>{_BASED}|{grouped}|{_DECIMAL})(?P<half>{_HALF})?"
    return re.compile(rf"\s*(?:{number}|(?P<name>{_NAME})|(?P<sign>{_SIGN}))")


_OUTSIDE, _INSIDE = _pattern(",' "), _pattern("' ")
"""Inside the brackets of a function, a comma separates arguments instead of thousands."""


class Token(NamedTuple):
    """`value` is the value of a number or constant."""

    kind: Literal["number", "constant", "function", "unit", "sign", "end"]
    text: str
    value: Fraction = Fraction(0)


END = Token("end", "")
IN = Token("sign", "in")


def tokens_of(text: str) -> list[Token]:
    """The tokens and two END. Raises ToolFailed for an unknown character and for a number that is incomplete or out of
    range."""
    text = text.translate(_ALIKE).strip()
    tokens = [END]
    brackets: list[bool] = []
    at = 0
    while at < len(text):
        match = (_INSIDE if brackets and brackets[-1] else _OUTSIDE).match(text, at)
        if match is None:
            raise ToolFailed(f"{text[at:].lstrip()[:1]!r} is not valid in an expression: leave it out.")
        number, name, sign = match["number"], match["name"], match["sign"]
        last, at = tokens[-1], match.end()
        if match["half"]:
            problem = f"{number[:60]}e is an incomplete number: write {number[:60]}e6"
            raise ToolFailed(f"{problem}, or {number[:60]}*e for Euler's number.")
        if number:
            tokens.append(Token("number", number, _value(number)))
        elif name == "in" and (last == IN or (last.kind == "number" and _INCHES.match(text, at))):
            tokens.append(Token("unit", name))
        elif name:
            tokens.append(_named(name, last, text[at:].lstrip()[:1]))
        else:
            tokens.append(Token("sign", _WORDS.get(sign, sign)))
        if sign == "(":
            brackets.append(last.kind == "function")
        elif sign == ")" and brackets:
            brackets.pop()
    return [*tokens[1:], END, END]


def _named(name: str, last: Token, following: str) -> Token:
    lower = name.lower()
    after_value = last.kind in ("number", "constant", "unit") or last.text in (")", "!", "%")
    if lower in FUNCTIONS and following == "(" and not (lower in _WORDS and after_value):
        return Token("function", lower)
    if lower in _WORDS:
        return Token("sign", _WORDS[lower])
    if lower in CONSTANTS and name != "E":
        return Token("constant", name, CONSTANTS[lower])
    return Token("unit", name)


def _value(piece: str) -> Fraction:
    if piece[:2].lower() in ("0x", "0b", "0o"):
        return fitted(int(piece, 0))
    digits, _, exponent = re.sub(r"[_,' ]", "", piece).lower().partition("e")
    power = int(exponent or 0)
    if abs(power) > 2 * MAX_DIGITS:
        raise ToolFailed(TOO_LARGE if power > 0 else TOO_SMALL)
    return fitted(Fraction(digits.rstrip(".")) * Fraction(10) ** power)
