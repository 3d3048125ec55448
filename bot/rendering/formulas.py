"""Formulas in TeX as Unicode, by telegramify-markdown's converter with what it lacks."""

from __future__ import annotations

import re

from telegramify_markdown.latex_escape.helper import LatexToUnicodeHelper

from bot.rendering.guard import guarded
from bot.rendering.plain import clean

LONGEST_FORMULA = 1000  # characters; the converter takes quadratic time, so longer ones are shown as written
_TEX = re.compile(r"[\\^_{}]")
_SIGN = re.compile(r"[=+*/<>|]|(?<![A-Za-z])-(?![A-Za-z])")
_WORD = re.compile(r"[A-Za-z]{3}")
_UNKNOWN = re.compile(r"\\[A-Za-z]")
# Commands that only change the size or the spacing, and fractions of another size.
_SIZE = re.compile(r"\\(?:[Bb]igg?[lrm]?|middle|displaystyle|textstyle|limits|nolimits|nonumber|notag)(?![A-Za-z])[ ]?")
_FRACTION = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_NAME = re.compile(r"\\operatorname\*(?![A-Za-z])")
_NOT_EQUAL = re.compile(r"\\ne(?![A-Za-z])")


class _Converter(LatexToUnicodeHelper):  # type: ignore[misc]  # the library is untyped
    """Roots have brackets instead of a line above, which most fonts on phones misplace."""

    def translate_sqrt(self, command: str, option: str, param: str) -> str:
        index, inner = option.strip(), param.strip()
        sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(index)
        sign = sign or (self.try_make_superscript(index) or f"({index})") + "√"
        return sign + (inner if len(inner) == 1 else self._grouped(inner))

    def _grouped(self, text: str) -> str:
        return text if text.isalnum() and text.isascii() else f"({text})"


_CONVERTER = _Converter()


def is_formula(latex: str, block: bool = False) -> bool:
    r"""Whether the text between ``\(`` and ``\)``, or ``\[`` and ``\]``, is TeX and not an escaped bracket of prose."""
    if not latex.strip() or len(latex) > LONGEST_FORMULA:
        return False
    if _TEX.search(latex) or _SIGN.search(latex):
        return True
    return not block and not _WORD.search(latex)


def unicode_formula(latex: str, block: bool = False) -> str:
    """The formula in Unicode, on one line unless `block`; as written where it is too long or has unknown commands."""
    if len(latex) > LONGEST_FORMULA:
        return latex
    written = " ".join(latex.split())
    if not _TEX.search(written):
        return written
    prepared = _NOT_EQUAL.sub(r"\\neq", _NAME.sub(r"\\operatorname", _FRACTION.sub(r"\\frac", _SIZE.sub("", written))))
    made = guarded(lambda: clean(str(_CONVERTER.convert(prepared))), written)
    if _UNKNOWN.search(made):
        return written
    lines = [" ".join(line.split()) for line in made.split("\n") if line.strip()]
    return ("\n" if block else "; ").join(lines) or written
