"""Translations. English sentences are in the code; `<code>.json` next to this file maps them to another language."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

from routing.errors import Reason

_FOLDER = Path(__file__).parent


@cache
def languages() -> dict[str, str]:
    """Language codes and their native names. Adding a file adds a language."""
    others = {path.stem: _table(path.stem)["English"] for path in sorted(_FOLDER.glob("*.json"))}
    return {"en": "English", **others}


@cache
def _table(code: str) -> Mapping[str, str]:
    table: dict[str, str] = json.loads((_FOLDER / f"{code}.json").read_text(encoding="utf-8"))
    return table


@dataclass(frozen=True, slots=True)
class Dollars:
    """An amount in US dollars: `$1,234.50`, `$0.24`; four decimals below ten cents."""

    amount: Decimal

    @property
    def figure(self) -> str:
        exact = 4 if self.amount < Decimal("0.1") and self.amount != round(self.amount, 2) else 2
        return f"{self.amount:,.{exact}f}"

    def __str__(self) -> str:
        return f"${self.figure}"


class Say(string.Formatter):
    """Translates a sentence and formats its numbers. Sentences without a translation stay English."""

    def __init__(self, language: str) -> None:
        self.language = language if language in languages() else "en"

    def __call__(self, template: str, /, **values: object) -> str:
        if isinstance(template, Reason):
            values = {**template.values}
            template = template.template
        template = self._translated(template)
        return self.vformat(template, (), values) if values else template

    def number(self, value: float | Decimal | Dollars, form: str = "") -> str:
        """Formats a number for this language. `form` is a format specification."""
        return self.format_field(value, form)

    def time(self, at: datetime) -> str:
        """Formats a date and the time of day for this language."""
        return format(at, self._translated("%Y-%m-%d %H:%M"))

    def date(self, at: date) -> str:
        """Formats a day of the current year for this language."""
        return format(at, self._translated("%m-%d"))

    def format_field(self, value: object, format_spec: str) -> str:
        """Adds the language's separators to numbers. Pass an identifier that is a number as text."""
        if isinstance(value, Reason):
            return self(value)
        if isinstance(value, Dollars):
            return self._translated("${amount}").replace("{amount}", self._separated(value.figure))
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return self._separated(format(value, format_spec or ("," if isinstance(value, int) else "")))
        return format(value, format_spec)

    def _separated(self, figure: str) -> str:
        return figure.translate({ord(sign): self._translated(sign) for sign in ",."})

    def _translated(self, template: str) -> str:
        return template if self.language == "en" else _table(self.language).get(template, template)
