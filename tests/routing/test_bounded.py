"""Keys that people choose are stored up to a limit."""

from __future__ import annotations

from routing.bounded import Bounded


def test_the_oldest_entry_is_dropped_and_setting_one_makes_it_the_newest() -> None:
    recent = Bounded[str, int](2)
    for name, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        recent[name] = value
    assert recent == {"a": 3, "c": 4}
