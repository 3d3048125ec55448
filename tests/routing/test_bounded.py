"""Keys that people choose are stored up to a limit."""

from __future__ import annotations

from routing.bounded import Bounded, SizeBounded


def test_the_oldest_entry_is_dropped_and_setting_one_makes_it_the_newest() -> None:
    recent = Bounded[str, int](2)
    for name, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        recent[name] = value
    assert recent == {"a": 3, "c": 4}


def test_the_oldest_entries_make_room_for_a_large_one() -> None:
    recent = SizeBounded[str, str](10, len)
    for name, value in (("a", "12"), ("b", "123"), ("c", "1"), ("a", "1234")):
        recent[name] = value
    assert (recent, recent.total) == ({"b": "123", "c": "1", "a": "1234"}, 8)
    recent["d"] = "12345"
    assert (recent, recent.total) == ({"c": "1", "a": "1234", "d": "12345"}, 10)
    assert (recent.take("a"), recent.take("a"), recent.total) == ("1234", None, 6)
    recent["e"] = "more than fits"
    assert (recent, recent.total) == ({}, 0)
    recent["f"] = "1"
    recent.clear()
    assert recent.total == 0
