"""Understands when something should happen: `in 20 minutes`, `jeden Montag um 9`, ISO times and cron expressions.

Fourteen languages are understood exactly (`time_words`); single times in others are left to dateparser, which is
imported on first use. Everything here may block for some 100 ms, so it runs in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time
from zoneinfo import ZoneInfo

from handlers.schedules.expression_parser import DAYS, DAYS_AHEAD, NUMERIC, REPEATING, ExpressionParser
from handlers.schedules.parsed_expression import DEFAULT_TIME, NoRuleError, NotATimeError, When
from handlers.schedules.rules import is_cron, is_rule, local_time, next_time
from handlers.schedules.time_words import UNITS, UNSPACED, Word, languages, leading, lower, scan
from routing.errors import Reason, Refused

MAX_CHARACTERS = 200
"""Maximum length of a time expression."""
MAX_YEARS = 10
_FIGURES = ("number", "clock", "point")
SPLIT_CHARACTERS = 400
"""A time is looked for in this many characters at the beginning and at the end of a text."""
HOW = (
    "Write it like “in 20 minutes”, “tomorrow 9:00”, “Monday at 8”, “every weekday at 8”, “2030-12-24 18:00”, or as a "
    "cron expression such as “0 8 * * 1-5”."
)
OTHERS = ("uk", "cs", "sv", "da", "nb", "fi", "hu", "ro", "el", "he", "hi", "id", "vi", "th")
"""Languages left to dateparser; each takes it some milliseconds."""
THEN = ", then "
"""Between a first time and its rule."""
_DURATION = {"number", "decimal", "span", "and", "fill", *UNITS}
"""The kinds of words of a duration, such as `20 minutes`."""
_TAGS: Mapping[str, str] = {
    **dict.fromkeys((*DAYS, *DAYS_AHEAD, "part"), "on"),
    **dict.fromkeys(("iso", "dotted", "slashed"), "on"),
    **dict.fromkeys(("second", "minute", "hour"), "unit"),
    **dict.fromkeys(("day", "week", "month", "year"), "days"),
    "point": "clock",
}
"""What `_ANOTHER` and `_LIMIT` call words of these kinds; a number in figures is `digits`."""
_ANOTHER = re.compile(
    r"(?:(?:digits|clock) (?:oclock )?)*(?:and|or) (?:(?:at|in|every) )?(?:digits|clock|on|months digits)"
    r"|(?:(?:digits|clock) (?:oclock )?)*(?:and|or) (?:at|in|every) (?:number|span|unit|days)"
    r"|oclock (?:and|or|digits oclock)|or_so"
    r"|in (?:digits|number) (?:unit|days)|in span|(?:digits|number) (?:unit|days) after"
)
"""Matches words behind a time that name another time."""
_LIMIT = re.compile(
    r"at digits|to (?:at )?(?:clock|on|months)"
    r"|.*\bfor (?:next )?(?:digits|number) (?:next )?days\b|.*\b(?:digits|number) days for\b"
    r"|.*\b(?:unsupported|past (?:unit|on|days))\b"
)
"""Matches words behind a repeated time that name another time, an end or an exception."""
_CONNECTING = ("fill", "and", "at", "in", "every", "next", "to", "at_or_to")
_NAMED = (*DAYS, *DAYS_AHEAD, "months", "part")
_PARTS = {"part", "tomorrow"}
"""Kinds of words for a part of the day; some for tomorrow also mean the morning."""
_CLOCKS = (*_FIGURES, "am", "pm", "oclock")
_EXACT = ("number", "clock", "point", "part")
_WORD_CHARACTERS = 4
_SUFFIX_WORDS = 12
_DIGITS = re.compile(r"\d+")
_DATE_AT_END = re.compile(r"\d\.\s?\d{1,2}\.$")


def understand(text: str, now: float, zone: ZoneInfo, language: str = "") -> When:
    """Raises Refused if the text is no time, can mean two times, or is in the past."""
    text = " ".join(text.split())
    if len(text) > MAX_CHARACTERS:
        raise Refused("A time can have up to {most} characters. {how}", most=MAX_CHARACTERS, how=Reason(HOW))
    far = Refused("“{when}” is too far away: at most {years} years from now.", when=text, years=MAX_YEARS)
    try:
        when = _exact(text, now, zone) or _in_words(text, now, zone, language) or _by_library(text, now, zone)
        there = datetime.fromtimestamp(when.at if when is not None else now, zone)
    except (OverflowError, ValueError):  # outside the years 1 to 9999
        raise far from None
    if when is None:
        raise Refused("I don't understand the time “{when}”. {how}", when=text, how=Reason(HOW))
    if when.at <= now:
        past = f"{there:%Y-%m-%d %H:%M}"
        raise Refused("“{when}” is in the past ({time}). {how}", when=text, time=past, how=Reason(HOW))
    if when.at > now + MAX_YEARS * 366 * 86_400:
        raise far
    return when


def exactly(when: When, zone: ZoneInfo) -> str:
    """A text that `understand` reads as this time and rule, whenever it does; what repeats continues with its next
    time if the first one has passed."""
    first = datetime.fromtimestamp(when.at, zone).isoformat(timespec="seconds")
    return f"{first}{THEN}{when.rule}" if when.rule else first


def split(text: str, now: float, zone: ZoneInfo, language: str = "") -> tuple[str, str] | None:
    """Splits "tomorrow 9:00 call Ana" or "call Ana tomorrow at 9" into the time and the rest; None if there is no time
    or no rest."""
    text = text.strip()
    folded = lower(text)
    for code in _ordered(language):
        words = scan(folded[:SPLIT_CHARACTERS], code)
        if _is_past(words):
            return None
        end, timed = _prefix(folded[:SPLIT_CHARACTERS], now, zone, code)
        if end == len(text):
            return None
        before = [word.kind for word in words if word.end <= end]
        repeats = any(kind in REPEATING for kind in before)
        behind = [word for word in words if word.end > end]
        digit_follows = folded[end:].lstrip()[:1].isdigit()
        if end and _goes_on(before, behind, digit_follows) and _whole_word(folded, words[-1].end, code):
            end = words[-1].end
            return text[:end], _without_lead(text[end:], code)  # `understand` refuses it
        start, whole = (None, True) if timed else _suffix(folded, end, repeats, now, zone, code)
        if start is not None and end:  # "Monday meeting at 9"
            when = f"{text[:end]} {text[start:]}"
            if not whole or _is_time(scan(lower(when), code), now, zone):
                return when, _without_lead(text[end:start], code)
        if end:
            return text[:end], _without_lead(text[end:], code)
        if start is not None:  # `understand` refuses what is not whole, so that no other language reads a part of it
            rest = text[:start].strip(" ,;:-")
            return (text[start:], rest) if rest else None
    return None


def _without_lead(text: str, language: str) -> str:
    text = text.lstrip(" ,;:-–\n")
    found = leading(language).match(text)
    return (text[found.end() :] if found is not None else text).strip()


def _prefix(folded: str, now: float, zone: ZoneInfo, language: str) -> tuple[int, bool]:
    """Where the longest time expression at the beginning ends, 0 if there is none, and whether it has a time of day."""
    words = scan(folded, language)
    while words:
        if (
            words[-1].kind not in _CONNECTING
            and _whole_word(folded, words[-1].end, language)
            and _is_time(words, now, zone)
        ):
            return words[-1].end, any(each.kind in _EXACT for each in words)
        words.pop()
    return 0, False


def _goes_on(before: Sequence[str], behind: Sequence[Word], digit_follows: bool) -> bool:
    """Whether the words behind a time belong to it, though it is not understood with them: `every day at 8 and 20`,
    `every weekday except Friday`. `before`: the kinds of its words. `digit_follows`: a number follows it directly, as
    in `at 9 1 or 2 pills`."""
    said = " ".join(_tag(word) for word in behind if word.kind != "fill")
    if digit_follows:
        said = re.sub("^digits", "number", said)
    if said and (before[-1] == "or_so" or (before[-1] in DAYS and behind[0].kind in _PARTS and _PARTS & {*before})):
        return True  # "Saturday at 8 or So at 9", "every Monday morning and Friday evening"
    if _ANOTHER.match(said) or (any(kind in REPEATING for kind in before) and _LIMIT.match(said)):
        return True
    if before[-1] == "number" and "oclock" in before and said.startswith("oclock"):
        return True  # "um 8 Uhr, 12 Uhr": no 8:12
    return said.removeprefix("at ").startswith("clock") and any(kind in _FIGURES for kind in before)


def _tag(word: Word) -> str:
    if word.kind == "number" and word.text.isdigit():
        return "digits"
    if word.kind == "span" and word.value[1] in ("day", "week"):
        return "number days"
    return _TAGS.get(word.kind, word.kind)


def _is_time(words: Sequence[Word], now: float, zone: ZoneInfo) -> bool:
    """Whether the words are an expression that a text around it does not contain by chance, as "do" or "an"."""
    if not any(each.kind in NUMERIC or len(each.text) >= _WORD_CHARACTERS or not each.text.isascii() for each in words):
        return False
    try:
        ExpressionParser(words, now, zone, whole=False).when()
    except NoRuleError:
        return True
    except NotATimeError:
        return False
    except (Refused, OverflowError):  # `understand` says why
        return True
    return True


def _is_past(words: Sequence[Word]) -> bool:
    """Whether they begin with a time that has passed, such as `5 minutes ago`."""
    return len(words) > 1 and words[0].kind in NUMERIC and any(each.kind == "past" for each in words)


def _without_end(text: str) -> str:
    """Without the end of a sentence; the full stop of `24.12.` belongs to the date."""
    text = text.rstrip(" !?")
    return text if _DATE_AT_END.search(text[-8:]) else text.rstrip(" .!?")


def _whole_word(text: str, end: int, language: str) -> bool:
    return end >= len(text) or language in UNSPACED or not (text[end].isalnum() and text[end - 1].isalnum())


def _suffix(
    folded: str, after: int, repeats: bool, now: float, zone: ZoneInfo, language: str
) -> tuple[int | None, bool]:
    """Where the longest time expression at the end begins, behind `after`, and whether it is understood as a whole:
    `at 8:00 and 20:00` is not. `repeats`: the time before `after` does."""
    found, folded = None, _without_end(folded)
    skipped: list[int] = []
    first = max(after, len(folded) - SPLIT_CHARACTERS)
    begins = list(re.finditer(r"\S" if language in UNSPACED else r"(?<!\S)\S", folded[first:]))[-_SUFFIX_WORDS:]
    for start in [first + each.start() for each in begins]:
        words = scan(folded, language, start)
        if not words or words[-1].end != len(folded):
            continue
        if not start:  # no time as a whole, or it was found before
            skipped.append(start)
            continue
        kinds = {word.kind for word in words}
        if kinds & {"past", "unsupported"}:
            if after and ("past" in kinds or not repeats):  # "tomorrow ask Ana about yesterday"
                return None, True
            return [*skipped, start][0], False
        if _is_time(words, now, zone):
            if repeats and kinds <= _DURATION:  # "every Friday food for 2 weeks"
                return None, True
            found = start
            break
        skipped.append(start)
    whole = next((each for each in skipped if _has_time(folded, each, found, now, zone, language)), None)
    return (found, True) if whole is None else (whole, False)


def _has_time(folded: str, start: int, found: int | None, now: float, zone: ZoneInfo, language: str) -> bool:
    """Whether a time, not only a duration, is at `start`, or joined to the one at `found`: `every day at 8 until
    Friday`, `every January and July on the 1st`."""
    words = scan(folded, language, start)
    end, _ = _prefix(folded[start:], now, zone, language)
    before = [word.kind for word in words if found is not None and word.end <= found and word.kind != "fill"]
    if before[1:] and before[-1] in ("and", "or") and (before[-2] == "number" or before[-2] in _NAMED):
        return True
    if found is not None and start + end > found and {*before} <= {"part"} and words[-1].kind in _CLOCKS:
        return False  # "the morning tomorrow at 5pm"
    return any(word.kind not in _DURATION for word in words if word.end <= start + end)


def _ordered(language: str) -> Iterable[str]:
    return dict.fromkeys([*([language] if language in languages() else []), *languages()])


def _exact(text: str, now: float, zone: ZoneInfo) -> When | None:
    """An ISO time, a cron expression, or a first time and its rule as from `exactly`."""
    if is_cron(text):
        first = next_time(text, now, now, zone)
        return None if first is None else When(first, text)
    if len(text) < len("2030-12-24T18:00"):
        return None
    start, then, rule = text.partition(THEN)
    if then and not is_rule(rule):
        return None
    try:
        given = datetime.fromisoformat(start.replace(" ", "T", 1))
    except ValueError:
        return None
    at: float | None = local_time(given.date(), given.time(), zone) if given.tzinfo is None else given.timestamp()
    if rule and at is not None and at <= now:
        at = next_time(rule, at, now, zone)
    return None if at is None else When(at, rule)


def _in_words(text: str, now: float, zone: ZoneInfo, language: str) -> When | None:
    folded = _without_end(lower(text))
    for code in _ordered(language):
        words = scan(folded, code)
        if words and words[-1].end == len(folded):
            try:
                return ExpressionParser(words, now, zone, whole=True).when()
            except NotATimeError:
                continue
    return None


def _by_library(text: str, now: float, zone: ZoneInfo) -> When | None:
    """A single time in any other language. A result that leaves out one of the numbers is not used."""
    letters = [each for each in text if each.isalpha()]
    if not letters or (len(letters) <= _WORD_CHARACTERS and "".join(letters).isascii()):
        return None
    import dateparser

    here = datetime.fromtimestamp(now, zone).replace(tzinfo=None)
    settings = {"PREFER_DATES_FROM": "future", "RELATIVE_BASE": here, "RETURN_AS_TIMEZONE_AWARE": False}
    try:
        found = dateparser.parse(text, languages=list(OTHERS), settings=settings)
    except (ValueError, OverflowError, RecursionError):
        return None
    if found is None:
        return None
    there = found.replace(tzinfo=None)
    shown = {there.year, there.month, there.day, there.hour, there.hour % 12 or 12, there.minute}
    if there.time() == time(0) and "00" not in text:
        there = datetime.combine(there, DEFAULT_TIME)
    passed = there - here
    shown |= {passed.days, round(passed.total_seconds() / 3600), round(passed.total_seconds() / 60)}
    if not all(int(each) in shown or int(each) == 0 for each in _DIGITS.findall(text)):
        return None
    return When(local_time(there.date(), there.time().replace(microsecond=0), zone))
