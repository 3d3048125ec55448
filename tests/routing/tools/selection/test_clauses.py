"""Splitting messages with several requests into clauses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.tools.selection.clauses import MAX_CLAUSES, clauses


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("set an alarm and play some jazz", ["set an alarm", "play some jazz"]),
        ("Set an alarm. Play some jazz!", ["Set an alarm", "Play some jazz"]),
        ("set an alarm, then play some jazz", ["set an alarm", "play some jazz"]),
        ("set an alarm AND THEN play some jazz", ["set an alarm", "play some jazz"]),
        ("wake me up\nplay some jazz", ["wake me up", "play some jazz"]),
        ("stell den Wecker und spiel etwas Jazz", ["stell den Wecker", "spiel etwas Jazz"]),
        ("mets un réveil et puis joue du jazz", ["mets un réveil", "joue du jazz"]),
        ("pon una alarma y luego toca algo", ["pon una alarma", "toca algo"]),
        ("поставь будильник и включи джаз", ["поставь будильник", "включи джаз"]),
        ("알람을 맞춰줘 그리고 음악을 틀어줘", ["알람을 맞춰줘", "음악을 틀어줘"]),
        ("设置七点的闹钟然后播放爵士乐", ["设置七点的闹钟", "播放爵士乐"]),
        ("七時に起こして、ジャズをかけて", ["七時に起こして", "ジャズをかけて"]),
        ("七時に起こして。ジャズをかけて", ["七時に起こして", "ジャズをかけて"]),
    ],
)
def test_the_whole_message_and_each_clause_are_returned(message: str, parts: list[str]) -> None:
    assert clauses(message) == [message, *parts]


@pytest.mark.parametrize(
    "message",
    [
        "set an alarm",
        "set an alarm.",
        "what is 3.5 plus 4.25",
        "open https://example.org/a,b;c.html?x=1",
        "convert 1,000 euros",
        "the band and",
        "salt and pepper",
        "milk, eggs, bread",
        "sandy beaches",
        "闹钟",
        "",
        "   ",
        "...",
        "and",
        "😶‍🌫️",
    ],
)
def test_text_without_independent_clauses_stays_whole(message: str) -> None:
    assert clauses(message) == [message]


def test_short_clauses_join_their_neighbour() -> None:
    assert clauses("buy some milk, eggs, and call my mother") == [
        "buy some milk, eggs, and call my mother",
        "buy some milk eggs",
        "call my mother",
    ]
    assert clauses("please, set an alarm. play some jazz")[1:] == ["please set an alarm", "play some jazz"]


def test_the_number_of_clauses_is_limited() -> None:
    message = ". ".join(f"send letter {number}" for number in range(20))
    assert clauses(message) == [message, *(f"send letter {number}" for number in range(MAX_CLAUSES))]


@given(st.text(alphabet="ab ,.;!?\n和、。再", max_size=60) | st.text(max_size=60))
def test_clauses_are_never_empty_and_their_number_is_limited(message: str) -> None:
    whole, *parts = clauses(message)
    assert whole == message
    assert len(parts) != 1
    assert len(parts) <= MAX_CLAUSES
    assert all(part == part.strip() != "" for part in parts)


@pytest.mark.parametrize("unit", [" ", "\n", ". ", "a ", " and ", "。", ", "])
def test_splitting_takes_linear_time(unit: str) -> None:
    message = unit * (20_000 // len(unit))
    assert clauses(message) == [message]
