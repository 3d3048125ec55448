"""An expression cut into numbers, names and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from handlers.tools.arithmetic.functions import FUNCTIONS
from handlers.tools.arithmetic.numbers import MOST_DIGITS, Number, fitted, too_large, too_small
from routing.errors import ToolFailed

TokenKind = Literal["number", "name", "sign", "end"]
_ALIKE = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "≠": "!=", "→": "->"}
    | {"²": "^2", "³": "^3", "’": "'", "\u00a0": " ", "\u202f": " ", "\u2009": " "}
)
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_DECIMAL = rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?[0-9]+)?"
_BASED = r"0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+"


def _grouped(marks: str) -> str:
    """1,234,567.5 with any one of `marks` for the comma."""
    return rf"[0-9]{{1,3}}(?P<mark>[{marks}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*(?![0-9])(?:\.[0-9]+)?"


_NAME = r"(?:[^\W\d]|°)[\w°]*"
_SIGN = r"\*\*|//|<<|>>|<=|>=|==|!=|->|[-+*/%^!()<>=,;√]"
_WORDS = {"percent": "%", "pct": "%", "x": "*", "per": "/"}


def _pattern(marks: str) -> re.Pattern[str]:
    number = rf"(?P<number>{_BASED}|{_grouped(marks)}|{_DECIMAL})"
    return re.compile(rf"\s*(?:{number}|(?P<name>{_NAME})|(?P<sign>{_SIGN}))")


_RAISED = re.compile(r"\s*(?:\^|\*\*)")
_ALONE, _AMONG = _pattern(",' "), _pattern("' ")
"""Among the arguments of a function a comma stands between two of them."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the expression; only a number has a `value`."""

    kind: TokenKind
    text: str
    value: Number = Fraction(0)


_END = Token("end", "")


class Cursor:
    """Where in the expression the reading is."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def now(self) -> Token:
        return self.ahead(0)

    def ahead(self, steps: int) -> Token:
        """The token so many after the next one; beyond the last one and before the first it is an end."""
        at = self._at + steps
        return self._tokens[at] if 0 <= at < len(self._tokens) else _END

    def take(self) -> Token:
        token = self.now
        self._at += 1
        return token

    def accept(self, *texts: str) -> str:
        """Takes the next token if it is one of these, in any case; else empty."""
        if self.now.kind == "number" or self.now.text.lower() not in texts:
            return ""
        return self.take().text.lower()


def tokens_of(text: str) -> list[Token]:
    """All of them. Raises ToolFailed for a character that nothing begins with, and for numbers that are
    too long."""
    text = text.translate(_ALIKE).strip()
    found: list[Token] = []
    opened: list[bool] = []
    at = 0
    while at < len(text):
        match = (_AMONG if opened and opened[-1] else _ALONE).match(text, at)
        if match is None:
            raise ToolFailed(f"{text[at:].lstrip()[:1]!r} is not valid in an expression: leave it out.")
        kind = match.lastgroup if match.lastgroup != "mark" else "number"
        piece = match.group(kind or "sign")
        if piece == "(":
            opened.append(bool(found) and found[-1].text.lower() in FUNCTIONS)
        elif piece == ")" and opened:
            opened.pop()
        if piece in ("e", "E") and found and found[-1].kind == "number" and match.start("name") == at:
            _refuse_unless_raised(found[-1].text, text, match.end())
        found.append(_token(kind, piece))
        at = match.end()
    return found


def _refuse_unless_raised(number: str, text: str, at: int) -> None:
    """2e^3 is a product with Euler's number; 2e alone is rather the beginning of 2e6."""
    if not _RAISED.match(text, at):
        told = f"{number[:60]}e is an incomplete number: write {number[:60]}e6"
        raise ToolFailed(f"{told}, or {number[:60]}*e for Euler's number.")


def _token(kind: str | None, piece: str) -> Token:
    if kind == "number":
        return Token("number", piece, _value(piece))
    word = _WORDS.get(piece.lower(), "")
    return Token("name" if kind == "name" and not word else "sign", word or piece)


def _value(piece: str) -> Number:
    if piece[:2].lower() in ("0x", "0b", "0o"):
        return fitted(Fraction(int(piece, 0)))
    digits, _, exponent = re.sub(r"[_,' ]", "", piece).lower().partition("e")
    power = int(exponent or 0)
    if abs(power) > 2 * MOST_DIGITS:
        raise too_large() if power > 0 else too_small()
    return fitted(Fraction(digits.rstrip(".")) * Fraction(10) ** power)
