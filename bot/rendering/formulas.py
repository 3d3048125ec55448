"""Converts TeX formulas to Unicode with telegramify-markdown."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from bot.rendering.plain import clean, guarded

MAX_FORMULA_CHARACTERS = 1000  # the converter takes quadratic time
_TEX = re.compile(r"[\\^_{}]")
_SIGN = re.compile(r"[=+*/<>|]|(?<![A-Za-z])-(?![A-Za-z])")
_WORD = re.compile(r"[A-Za-z]{3}")
_UNKNOWN = re.compile(r"\\[A-Za-z]")
# Commands that only change sizes or spacing, and fractions of other sizes.
_SIZE = re.compile(r"\\(?:[Bb]igg?[lrm]?|middle|displaystyle|textstyle|limits|nolimits|nonumber|notag)(?![A-Za-z])[ ]?")
_FRACTION = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_NAME = re.compile(r"\\operatorname\*(?![A-Za-z])")
_ROOT = re.compile(r"\\sqrt (?=\S)")
_NOT_EQUAL = re.compile(r"\\ne(?![A-Za-z])")


def is_formula(latex: str, block: bool = False) -> bool:
    r"""Whether the text between ``\(`` and ``\)``, or ``\[`` and ``\]``, is TeX and not an escaped bracket of prose."""
    if not latex.strip() or len(latex) > MAX_FORMULA_CHARACTERS:
        return False
    if _TEX.search(latex) or _SIGN.search(latex):
        return True
    return not block and not _WORD.search(latex)


def unicode_formula(latex: str, block: bool = False) -> str:
    """The formula in Unicode, on one line unless `block`; as written if it is too long or has unknown commands."""
    if len(latex) > MAX_FORMULA_CHARACTERS:
        return latex
    written = " ".join(latex.split())
    if not _TEX.search(written):
        return written
    sized = _ROOT.sub(r"\\sqrt", _SIZE.sub("", written))
    prepared = _NOT_EQUAL.sub(r"\\neq", _NAME.sub(r"\\operatorname", _FRACTION.sub(r"\\frac", sized)))
    made = guarded(lambda: clean(str(_converter().convert(prepared))), written)
    if _UNKNOWN.search(made):
        return written
    lines = [" ".join(line.split()) for line in made.split("\n") if line.strip()]
    return ("\n" if block else "; ").join(lines) or written


@cache
def _converter() -> Any:
    """Imported on first use, which takes 45 ms."""
    from telegramify_markdown.latex_escape.helper import LatexToUnicodeHelper

    class Converter(LatexToUnicodeHelper):
        @staticmethod
        def translate_sqrt(command: str, option: str, param: str) -> str:
            """Use brackets instead of an overline, which most fonts on phones misplace."""
            sign: str = LatexToUnicodeHelper.translate_sqrt(command, option, "")
            radicand = param.strip()
            is_short = len(radicand) == 1 or (radicand.isalnum() and radicand.isascii())
            return sign + (radicand if is_short else f"({radicand})")

    return Converter()
