"""What a time expression means, and which ones are refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.schedules.time_expressions import MAX_CHARACTERS, exactly, split, understand
from handlers.schedules.time_words import languages, phrases
from routing.errors import Refused
from tests.handlers.schedules.expressions import BERLIN, EVERY_20, EXPRESSIONS, IN_20, NOW, TOMORROW_9, WORKDAYS

ROWS = [(language, said, wanted) for language, rows in EXPRESSIONS.items() for said, wanted in rows.items()]


@pytest.mark.parametrize("language", EXPRESSIONS)
def test_expressions(language: str) -> None:
    wrong = {
        said: found for code, said, wanted in ROWS if code == language and (found := shown(said, language)) != wanted
    }
    assert wrong == {}


@pytest.mark.parametrize("language", EXPRESSIONS)
def test_the_language_of_the_person_is_only_a_hint(language: str) -> None:
    """Ambiguous words aside, everything is also understood if the person's app is in another language."""
    wrong = {said for code, said, wanted in ROWS if code == language and shown(said, "xx") != wanted}
    assert wrong == set()


@pytest.mark.parametrize(
    ("language", "said", "wanted"),
    [
        ("en", "in 1.5 hours", "11-23 11:30"),
        ("en", "in 1:30 hours", "11-23 11:30"),
        ("en", "in 0.5 h", "11-23 10:30"),
        ("en", "every 1.5 hours", "11-23 11:30 @every 5400"),
        ("en", "2.5 days from now", "11-25 22:00"),
        ("de", "in 1,5 Stunden", "11-23 11:30"),
        ("fr", "dans 1,5 heure", "11-23 11:30"),
        ("tr", "1,5 saat sonra", "11-23 11:30"),
        ("ru", "через 1,5 часа", "11-23 11:30"),
        ("ja", "1.5時間後", "11-23 11:30"),
        ("zh", "1.5小时后", "11-23 11:30"),
        ("ko", "1.5시간 후", "11-23 11:30"),
    ],
)
def test_lengths_need_not_be_whole(language: str, said: str, wanted: str) -> None:
    assert shown(said, language) == wanted


@pytest.mark.parametrize(
    ("language", "said", "wanted"),
    [
        ("en", "12 at night", "11-24 00:00"),
        ("en", "tonight at 12", "11-24 00:00"),
        ("en", "tomorrow at 12:30 at night", "11-25 00:30"),
        ("en", "every day at 12 at night", "11-24 00:00 0 0 * * *"),
        ("de", "um 12 Uhr nachts", "11-24 00:00"),
        ("es", "a las 12 de la noche", "11-24 00:00"),
        ("zh", "晚上12点", "11-24 00:00"),
        ("zh", "中午12点", "11-23 12:00"),
        ("en", "12 midnight", "11-24 00:00"),
    ],
)
def test_twelve_at_night_is_midnight(language: str, said: str, wanted: str) -> None:
    assert shown(said, language) == wanted


def shown(said: str, language: str, now: float = NOW) -> str:
    try:
        when = understand(said, now, BERLIN, language)
    except Refused as refused:
        return str(refused)
    return f"{datetime.fromtimestamp(when.at, BERLIN):%m-%d %H:%M} {when.rule}".strip()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("soon", "don't understand"),
        ("", "don't understand"),
        ("9", "don't understand"),
        ("31.02.", "does not exist: 02-31"),
        ("29 February 2027 at 9", "does not exist: 2027-02-29"),
        ("30 feb", "does not exist: 02-30"),
        ("-5 minutes", "don't understand"),
        ("in 25", "don't understand"),
        ("in 1.30 hours", "don't understand"),
        ("at 1.5", "don't understand"),
        ("in 1.5 months", "don't understand"),
        ("9am pm", "don't understand"),
        ("tomorrow morning at 9pm", "don't understand"),
        ("every Monday at 12 at night", "don't understand"),
        ("2 days ago", "don't understand"),
        ("yesterday at 9", "don't understand"),
        ("jeden ersten Montag um 9", "don't understand"),  # of the month?
        ("Fridays at 24:00", "don't understand"),
        ("tomorrow at 9 in New York", "don't understand"),
        ("tomorrow 9:00 EST", "don't understand"),
        ("every day at 25:00", "don't understand"),
        ("every monday until december", "don't understand"),
        ("in 0 minutes", "don't understand"),
        ("every 0 minutes", "don't understand"),
        ("in 9999 years", "don't understand"),
        ("0 0 30 2 *", "don't understand"),  # never
        ("x" * (MAX_CHARACTERS + 1), "up to 200 characters"),
        ("today at 9", "in the past"),
        ("2020-01-01 10:00", "in the past"),
        ("24.12.2025", "in the past"),
        ("2090-01-01 10:00", "too far away"),
        ("03/04 at 9", "can mean 2027-04-03 or 2027-03-04"),
        ("Monday Tuesday 9:00", "several days"),
        ("Monday 1 December at 9", "2026-12-01 is not on that day of the week"),
        ("tomorrow on Monday", "2026-11-24 is not on that day of the week"),
        ("next week on the 3rd", "don't understand"),
        ("Montag in einer Woche", "don't understand"),
        ("todo dia 15", "don't understand"),
        ("every day at noon and midnight", "don't understand"),
        ("every month at 24:00", "don't understand"),
        ("every week at 24:00", "don't understand"),
        ("9999-12-31 24:00", "too far away"),
        ("0001-01-01T00:00+10:00", "too far away"),
        ("1990-01-01", "in the past (1990-01-01 09:00)"),
    ],
)
def test_what_can_not_be_used_says_why(said: str, why: str) -> None:
    assert why in shown(said, "en")


@pytest.mark.parametrize(
    "said",
    [
        "every month on the 15th and 30th",
        "on the 15th and 30th of every month",
        "Montag oder So",
        "ab morgen um 9",
        "ab morgen alle 20 Minuten",
        "every December 24 and January 6",
        "24.12. 6.1.",
        "in 2 hours and in 4 hours",
        "in 2 hours 2 hours",
        "in 3 hours and 2 days",
        "next month in 3 days",
        "at noon and at 5pm",
        "every Monday morning and Friday evening",
        "every Monday at 8 and Friday",
        "every day and every Monday at 9",
        "every day every month",
        "every hour daily",
        "every 2 weeks on the 3rd",
        "every day on the 3rd",
        "every year on the 3rd",
        "every year on Monday",
        "every Monday and the 1st at 9",
        "every day at 8:00, 20:00",
        "every day at 8 for 5 days",
        "today and tomorrow at 9",
        "tomorrow and Friday at 9",
        "tomorrow or Friday at 9",
        "tomorrow in 2 days",
        "tomorrow, 25 November",
        "tomorrow pm",
        "jeden Morgen und jeden Abend",
        "in 2 Stunden und in 4 Stunden",
        "tous les matins et tous les soirs",
        "8h et 20h",
        "en 2 horas y en 4 horas",
        "ogni mattina e ogni sera",
        "toda manhã e toda noite",
        "elke ochtend en elke avond",
        "za 2 godziny i za 4 godziny",
        "через 2 часа и через 4 часа",
        "her sabah ve her akşam",
        "2時間後と4時間後",
        "매일 아침과 저녁",
        "每天早上和晚上",
        "بعد ساعتين و بعد 4 ساعات",
    ],
)
def test_one_of_two_times_is_not_dropped(said: str) -> None:
    assert "I don't understand the time" in shown(said, "en")


@pytest.mark.parametrize(
    "said", ["on the 3rd and 5th at 9", "am 24. und 31. Dezember", "24.12. 25.12.", "3日と5日", "Mon/Wed/Fri at 9"]
)
def test_several_days_need_every(said: str) -> None:
    assert "These are several days" in shown(said, "en")


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Pacific/Auckland"])
@pytest.mark.parametrize("said", ["9999-12-31 23:59", "on 9999-12-31 at 23:00", "0001-01-01 00:00"])
def test_the_ends_of_the_calendar_are_too_far_away_in_each_zone(zone: str, said: str) -> None:
    with pytest.raises(Refused, match=r"too far away|in the past"):
        understand(said, NOW, ZoneInfo(zone))
    found = split(f"call Ana {said}", NOW, ZoneInfo(zone), "en")
    assert found is not None
    assert found[1] == "call Ana"


WORDS = st.sampled_from(
    ("8", "15", "24:00", "9.30", "1,5", "3/4", "29.2.", "9999-12-31", "0001-01-01", "1.", "0", "30")
)
SIGNS = st.sampled_from(("-", "–", ",", "/", ".", ":", "&", "@", "'", "tea", "Ana", "x"))


@settings(deadline=None)
@given(
    st.sampled_from(languages()).flatmap(
        lambda code: st.tuples(st.just(code), st.lists(st.sampled_from(phrases(code)) | WORDS | SIGNS, max_size=9))
    ),
    st.sampled_from((" ", "")),
    st.sampled_from(("America/Los_Angeles", "Pacific/Auckland", "Europe/Berlin")),
)
def test_any_words_are_understood_or_refused(said: tuple[str, list[str]], gap: str, zone: str) -> None:
    language, words = said
    text = gap.join(words)
    split(text, NOW, ZoneInfo(zone), language)
    with suppress(Refused):
        understand(text, NOW, ZoneInfo(zone), language)


def test_other_languages_by_library() -> None:
    assert shown("za 20 minut", "cs") == IN_20
    assert shown("25 грудня о 18:00", "uk") == "12-25 18:00"
    assert shown("25. prosince", "cs") == "12-25 09:00"


@pytest.mark.parametrize(
    ("text", "wanted", "days_later"),
    [
        ("every weekday at 8", WORKDAYS, "11-25 08:00 0 8 * * 1-5"),
        ("every 2 days at 9", "11-25 09:00 @days 2 09:00", "11-25 09:00 @days 2 09:00"),
        ("every 20 minutes", EVERY_20, "11-24 10:20 @every 1200"),
    ],
)
def test_an_exact_text_means_the_same_time_later(text: str, wanted: str, days_later: str) -> None:
    fixed = exactly(understand(text, NOW, BERLIN), BERLIN)
    assert shown(fixed, "en") == wanted
    assert shown(fixed, "en", NOW + 24 * 3600) == days_later


def test_an_exact_time_that_has_passed_is_refused() -> None:
    fixed = exactly(understand("tomorrow 9:00", NOW, BERLIN), BERLIN)
    assert shown(fixed, "en", NOW + 15 * 3600) == TOMORROW_9
    assert "is in the past" in shown(fixed, "en", NOW + 23 * 3600)


@pytest.mark.parametrize("rule", ["@every 0", "@days 0 09:00", "@days 1 24:00", "tomorrow", "@every 5 minutes", ""])
def test_a_time_with_a_wrong_rule_is_refused(rule: str) -> None:
    with pytest.raises(Refused):
        understand(f"2026-11-24T09:00:00+01:00, then {rule}", NOW, BERLIN)


def test_every_month_on_the_31st_is_the_last_day_of_shorter_months() -> None:
    assert shown("every month on the 31st", "en") == "11-30 09:00 @month 31 09:00"
    assert shown("every month on the 31st", "en", NOW + 8 * 24 * 3600) == "12-31 09:00 @month 31 09:00"
    assert shown("every month on the 30th at 8:15", "en") == "11-30 08:15 @month 30 08:15"


@pytest.mark.parametrize("said", ["every year on Feb 29", "every 29 February", "jährlich am 29.2."])
def test_every_29th_of_february_is_the_28th_in_other_years(said: str) -> None:
    assert shown(said, "en") == "02-28 09:00 0 9 L 2 *"
