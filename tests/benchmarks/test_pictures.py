"""The terminal emulator behind the picture of a chat."""

from __future__ import annotations

from datetime import date

import pytest

from benchmarks.pictures import days
from benchmarks.screen import Screen


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("one\r\ntwo", "one\ntwo"),
        ("draft\rfinal", "final"),
        ("one\r\ntwo\x1b[A\rnew", "new\ntwo"),
        ("one\r\ntwo\r\nthree\x1b[1A\r\x1b[J", "one\n"),
        ("making …\r\x1b[Kdone", "done"),
        ("a\x1b[3Cb\x1b[2Dc", "a  cb"),
        ("wider than ten", "wider than\n ten"),
        ("\x1b[?25l\x1b[?2004h\x1b]›\x1b[1m bold\x1b[0m", "› bold"),
    ],
)
def test_the_screen_shows_what_a_terminal_would(written: str, shown: str) -> None:
    screen = Screen(10)
    screen.feed(written)
    assert screen.text().plain == shown


def test_the_screen_keeps_styles() -> None:
    screen = Screen(80)
    screen.feed("plain \x1b[1;32mgreen\x1b[0m")
    assert [(span.start, span.end, str(span.style)) for span in screen.text().spans] == [(6, 11, "bold color(2)")]


def test_the_chart_has_a_day_for_each_bar() -> None:
    found = days(date(2026, 11, 22), 14)
    assert [found[0].date, found[-1].date, len(found)] == [date(2026, 11, 9), date(2026, 11, 22), 14]
    assert all(len(day.models) == 4 for day in found)
