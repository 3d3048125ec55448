"""Durations for people."""

import pytest

from handlers.replies.duration import format_duration


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h 0 min"),
        (3 * 86_400 + 4 * 3600 + 59, "3 d 4 h"),
    ],
)
def test_the_two_largest_units_count(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown
