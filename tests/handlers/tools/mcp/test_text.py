"""Cleaning of foreign texts: what is removed and what stays."""

from __future__ import annotations

import pytest

from handlers.tools.mcp.text import cleaned, cleaned_schema, hidden_fault, json_fault, readable, shown

PERSIAN, HINDI, FAMILY, HEART = "می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "❤️\u200d🔥"


def test_invisible_characters_are_removed() -> None:
    assert readable(" a\u202eb\U000e0041\x07c\nd ", 10) == "abc\nd"
    assert readable("x" * 11, 10) == "x" * 9 + "…"


GONE = (
    "\0 \x1b \r \x7f \x85 \xad \u061c \u200b \u200e \u2028 \u202e \u2060 \u2062 \u2069 \u3164 \ufe00 \ufeff "
    "\U000e0001 \U000e007f \U000e0100 \U000e01ef"
)


@pytest.mark.parametrize("sign", GONE.split(" "))
def test_invisible_characters(sign: str) -> None:
    assert cleaned(f"one{sign}two 日{sign}本") == "onetwo 日本"


@pytest.mark.parametrize("text", [PERSIAN, HINDI, FAMILY, HEART, "naïve\tline\nnext", "שלום", "1️⃣", "�", "𝒳"])
def test_characters_needed_by_languages_and_emoji_stay(text: str) -> None:
    assert cleaned(text) == text


def test_useless_joiners_and_repeated_marks_are_removed() -> None:
    assert cleaned("a\u200cb\u200d \u200c\u200d") == "ab "
    assert cleaned("می\u200c\u200d\u200cخ") == "میخ"
    assert cleaned("a\ufe0f\ufe0e\ufe0f") == "a\ufe0f"


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert cleaned("a\ud800b\ud83d\ude00") == "a\ufffdb😀"
    assert shown("\u200b") == "a tool without a name"


def test_a_schemas_descriptions_are_cleaned_and_its_values_stay() -> None:
    hidden = "x\u200b\x1b"
    schema = {
        "description": hidden,
        "properties": {"title": {"title": hidden, "enum": [hidden]}},
        "x": [{"$comment": hidden}],
    }
    assert cleaned_schema(schema) == {
        "description": "x",
        "properties": {"title": {"title": "x", "enum": [hidden]}},
        "x": [{"$comment": "x"}],
    }


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"b": "ü", "a": 1, "c": "می\u200cخواهم"}, ""),
        (["\ud800"], "contains half a character (a lone surrogate)"),
        (float("nan"), "has a number that JSON does not know (NaN or Infinity)"),
        ({"a\u202e": 1}, "hides a character in a name or a value (U+202E)"),
    ],
)
def test_reasons_for_hiding_a_value(value: object, fault: str) -> None:
    assert (hidden_fault(value) or "") == fault
    assert (json_fault(value) or "") == ("" if fault.startswith("hides") else fault), "it can still be sent"
