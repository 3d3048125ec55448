"""Finds the words of time expressions in fourteen languages. The words are in `time_words.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import Any

NUMBERED = ("weekdays", "repeated", "months")
"""Kinds whose words are listed by number: weekdays from Monday (0), months from January (1)."""
UNITS = ("second", "minute", "hour", "day", "week", "month", "year")
UNSPACED = ("ja", "zh", "ko")
"""Languages whose words follow each other without spaces."""
TONIGHT = "tonight"
PARTS: Mapping[str, int] = {
    "morning": 9,
    "noon": 12,
    "afternoon": 15,
    "evening": 19,
    TONIGHT: 19,
    "night": 22,
    "midnight": 0,
}
"""The hour of each part of the day if no other is given."""
Day = tuple[int | None, int, int]
"""Year (None: any), month and day."""
_NUMBERS = re.compile(
    r"(?P<iso>\d{4}-\d{1,2}-\d{1,2}(?!\d))(?:T(?=\d))?"
    r"|(?P<clock>\d{1,2}:\d{2}(?!\d))(?::00(?!\d))?"
    r"|(?P<dotted>\d{1,2}\.\s?\d{1,2}\.(?:\s?\d{4}(?!\d))?)"
    r"|(?P<slashed>\d{1,2}/\d{1,2}(?:/\d{4})?(?!\d))"
    r"|(?P<point>\d{1,2}\.\d{2}(?!\d))"
    r"|(?P<decimal>\d{1,3}[.,]\d(?![\d.:/]))"
    r"|(?P<number>\d{1,4}(?!\d))(?P<dot>\.(?!\d))?",
    re.IGNORECASE,
)
_GAP = re.compile(r"(?:[\s,;:·–、，-]|(?<=[^\W\d_])/(?=[^\W\d_]))*")
_NEGATIVE = re.compile(r"(?<!\S)[–-]\d")
_DASHES = ("-", "–")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a time expression, and where it ends in the text. Numbers have the kinds `number`, `decimal` (1.5),
    `clock`, `point` (a clock time such as 9.30), `iso`, `dotted` and `slashed` dates."""

    kind: str
    value: Any
    end: int
    text: str = ""


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages."""
    return tuple(_table())


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    path = Path(__file__).with_suffix(".json")
    table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return table


def phrases(language: str) -> Sequence[str]:
    """All phrases that the parser knows in a language."""
    return tuple(_phrases(language)[1])


@cache
def _phrases(language: str) -> tuple[re.Pattern[str], Mapping[str, tuple[tuple[str, Any], ...]]]:
    """A pattern for all phrases of a language, and what each can mean."""
    meanings: dict[str, list[tuple[str, Any]]] = {}

    def add(kind: str, phrases: str, value: Any = None) -> None:
        for phrase in filter(None, phrases.split("|")):
            meanings.setdefault(phrase, []).append((kind, value))

    for kind, given in _table()[language].items():
        if kind in NUMBERED:
            for number, phrases in enumerate(given, 1 if kind == "months" else 0):
                add(kind, phrases, number)
        elif isinstance(given, dict):
            for name, phrases in given.items():
                add(*_named(kind, name, phrases))
        elif kind != "lead":
            add(kind, given)
    longest = sorted(meanings, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest))
    end = "" if language in UNSPACED else r"(?:(?<=['’@])|(?![^\W\d_]))\.?"
    return re.compile(rf"(?:{pattern}){end}"), {phrase: tuple(each) for phrase, each in meanings.items()}


def _named(kind: str, name: str, phrases: str) -> tuple[str, str, Any]:
    """Kind, phrases and value of a part of the day, a number, a span such as `90 minute`, or minutes."""
    match kind:
        case "parts":
            return "part", phrases, name
        case "spans":
            number, unit = name.split()
            return "span", phrases, (int(number), unit)
        case "tomorrow_part":
            return kind, phrases, name
        case "numbers":
            return "number", phrases, int(name)
    return kind, phrases, int(name)


@cache
def leading(language: str) -> re.Pattern[str]:
    """Words between a time and the text of a reminder, such as `to`."""
    words = sorted(_table()[language]["lead"].split("|"), key=len, reverse=True)
    end = "" if language in UNSPACED else r"(?![^\W\d_])"
    return re.compile(rf"(?:{'|'.join(map(re.escape, words))}){end}\s*", re.IGNORECASE)


def lower(text: str) -> str:
    """Lower case of the same length."""
    return "".join(small if len(small := sign.lower()) == 1 else sign for sign in text).replace("’", "'")


def scan(text: str, language: str, start: int = 0) -> list[Word]:
    """The words from `start` up to the first one that does not belong to a time expression. `text` is in lower case."""
    pattern, meanings = _phrases(language)
    words: list[Word] = []
    at = start
    while True:
        before, at = at, _gap(text, at)
        if _NEGATIVE.match(text, at - 1):
            return words
        if words and words[-1].kind in ("weekdays", "repeated") and text[before:at].strip() in _DASHES:
            words.append(Word("to", None, at))
        if (number := _NUMBERS.match(text, at)) is not None:
            kind = number.lastgroup if number.lastgroup != "dot" else "number"
            assert kind is not None
            value = _number(kind, number.group(kind), language)
            if value is None:
                return words
            words.append(Word(kind, value, number.end(), number.group()))
            if number.group("dot"):
                words.append(Word("ordinal", None, number.end()))
        elif (phrase := pattern.match(text, at)) is not None:
            said = phrase.group() if phrase.group() in meanings else phrase.group().removesuffix(".")
            kind, value = _meaning(meanings[said], words)
            words.append(Word(kind, value, phrase.end(), said))
        else:
            return words
        at = words[-1].end


def _gap(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    return found.end() if found is not None else at


def _meaning(choices: tuple[tuple[str, Any], ...], before: list[Word]) -> tuple[str, Any]:
    """A word such as the Turkish "saat" is a unit after a number, and else "at"."""
    if len(choices) > 1:
        last = next((word.kind for word in reversed(before) if word.kind != "fill"), "")
        if ("to", None) in choices:
            others = [each for each in choices if each != ("to", None)]
            return ("at_or_to", None) if last in ("weekdays", "repeated") else others[0]
        if ("month_of", None) in choices:
            return ("month_of" if last == "number" else "month"), None
        units = [each for each in choices if each[0] in UNITS or each[0] == "oclock"]
        others = [each for each in choices if each not in units]
        if units and (last in ("number", "decimal", "clock", "every", "next") or not others):
            return units[0]
        return others[0]
    return choices[0]


def _number(kind: str, text: str, language: str) -> Any:
    """The value of a number, date or time; None if there is no such date or time. `dotted` and `slashed` dates are the
    days that they can mean."""
    try:
        match kind:
            case "iso":
                return date(*map(int, text.split("-")))
            case "clock" | "point":
                hour, minute = map(int, re.split("[:.]", text))
                return time(hour % 24 if (hour, minute) == (24, 0) else hour, minute)
            case "dotted" | "slashed":
                first, second, *rest = (int(each) for each in re.split("[./]", text.replace(" ", "")) if each)
                return _days(first, second, rest[0] if rest else None, kind == "slashed", language)
            case "decimal":
                return float(text.replace(",", "."))
            case _:
                return int(text)
    except ValueError:
        return None


def _days(first: int, second: int, year: int | None, slashed: bool, language: str) -> tuple[Day, ...]:
    """Only in English the month may come first."""
    day_first, month_first = (year, second, first), (year, first, second)
    if slashed and second > 12:
        return (month_first,)
    if slashed and language == "en" and first <= 12 and first != second:
        return day_first, month_first
    return (day_first,)
