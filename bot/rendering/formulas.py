"""Converts TeX formulas to Unicode with telegramify-markdown."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from bot.rendering.plain import clean, guarded

MAX_FORMULA = 1000  # characters; the converter takes quadratic time
_TEX = re.compile(r"[\\^_{}]")
_SIGN = re.compile(r"[=+*/<>|]|(?<![A-Za-z])-(?![A-Za-z])")
_WORD = re.compile(r"[A-Za-z]{3}")
_UNKNOWN = re.compile(r"\\[A-Za-z]")
# Commands that only change sizes or spacing, and fractions of other sizes.
_SIZE = re.compile(r"\\(?:[Bb]igg?[lrm]?|middle|displaystyle|textstyle|limits|nolimits|nonumber|notag)(?![A-Za-z])[ ]?")
_FRACTION = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_NAME = re.compile(r"\\operatorname\*(?![A-Za-z])")
_NOT_EQUAL = re.compile(r"\\ne(?![A-Za-z])")


def is_formula(latex: str, block: bool = False) -> bool:
    r"""Whether the text between ``\(`` and ``\)``, or ``\[`` and ``\]``, is TeX and not an escaped bracket of prose."""
    if not latex.strip() or len(latex) > MAX_FORMULA:
        return False
    if _TEX.search(latex) or _SIGN.search(latex):
        return True
    return not block and not _WORD.search(latex)


def unicode_formula(latex: str, block: bool = False) -> str:
    """The formula in Unicode, on one line unless `block`; as written if it is too long or has unknown commands."""
    if len(latex) > MAX_FORMULA:
        return latex
    written = " ".join(latex.split())
    if not _TEX.search(written):
        return written
    prepared = _NOT_EQUAL.sub(r"\\neq", _NAME.sub(r"\\operatorname", _FRACTION.sub(r"\\frac", _SIZE.sub("", written))))
    made = guarded(lambda: clean(str(_converter().convert(prepared))), written)
    if _UNKNOWN.search(made):
        return written
    lines = [" ".join(line.split()) for line in made.split("\n") if line.strip()]
    return ("\n" if block else "; ").join(lines) or written


@cache
def _converter() -> Any:
    """Imported on first use, which takes 45 ms."""
    from telegramify_markdown.latex_escape.helper import LatexToUnicodeHelper

    converter = LatexToUnicodeHelper()

    def root(command: str, option: str, param: str) -> str:
        """Use brackets instead of an overline, which most fonts on phones misplace."""
        index, inner = option.strip(), param.strip()
        sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(index)
        sign = sign or (converter.try_make_superscript(index) or f"({index})") + "√"
        return f"{sign}{inner}" if len(inner) == 1 or (inner.isalnum() and inner.isascii()) else f"{sign}({inner})"

    converter.translate_sqrt = root
    return converter
