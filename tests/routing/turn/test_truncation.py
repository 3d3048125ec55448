"""Which parts of long texts are kept."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from routing.turn.context_window import Window
from routing.turn.truncation import (
    emergency,
    emergency_all,
    emergency_chars,
    limit_result,
    shorten,
    shorten_arguments,
    shrink_to_fit,
)
from routing.types.llm import ChatMessage, Picture, ToolCall

LONG = "".join(f"{n:05} " for n in range(100_000))[:500_000]
FAMILY = "👨\u200d👩\u200d👧\u200d👦"


def test_a_long_result_is_truncated_and_says_so() -> None:
    cut = limit_result(LONG)
    assert len(cut) == 100_000
    text, marker = cut[: cut.index("\n[OUTPUT")], cut[cut.index("[OUTPUT") :]
    assert LONG.startswith(text)
    assert len(text) > 99_800
    assert marker.startswith("[OUTPUT TRUNCATED: 500000 chars total, showing first 100000 chars. ")
    assert "narrow" in marker
    assert marker.endswith("]")


@pytest.mark.parametrize("size", [0, 1, 99_999, 100_000])
def test_a_result_within_the_limit_is_unchanged(size: int) -> None:
    text = LONG[:size]
    assert limit_result(text) is text


def test_one_character_above_the_limit_is_truncated() -> None:
    assert len(limit_result(LONG[:100_001])) == 100_000


@pytest.mark.parametrize(
    ("most", "end"),
    [(1_000, "at a time.]"), (100, "first 100 chars.]"), (50, LONG[:50]), (1, LONG[:1]), (0, ""), (-5, "")],
)
def test_a_small_limit_is_respected(most: int, end: str) -> None:
    cut = limit_result(LONG, most)
    assert len(cut) <= max(0, most)
    assert cut.endswith(end)


@given(some.text(max_size=300), some.integers(0, 300))
def test_every_truncation_respects_its_limit(text: str, most: int) -> None:
    for cut in (limit_result, emergency, shorten):
        made = cut(text, most)
        assert len(made) <= most or made == text
        assert (made == text) == (len(text) <= most)


@pytest.mark.parametrize(("limit", "chars"), [(128_000, 112_000), (32_000, 28_000), (1_000, 10_000), (11_429, 10_000)])
def test_message_length_after_an_emergency_truncation(limit: int, chars: int) -> None:
    assert emergency_chars(limit) == chars


def test_an_emergency_truncation_says_so() -> None:
    cut = emergency(LONG, 28_000)
    assert len(cut) == 28_000
    assert LONG.startswith(cut[:27_000])
    assert "\n[EMERGENCY TRUNCATED: 500000 chars total. " in cut
    assert cut.endswith("]")


def test_an_emergency_keeps_speakers_and_short_messages() -> None:
    call = ToolCall("call_1", "write_file", '{"path": "a"}', signature="s")
    big = ToolCall("call_2", "write_file", json.dumps({"path": "a.py", "content": LONG}))
    messages = (
        ChatMessage("system", "rules"),
        ChatMessage("user", LONG, (Picture("image/png", b"1"),)),
        ChatMessage("assistant", LONG, calls=(call, big), made_by="openai/m", thinking="[]"),
        ChatMessage("tool", LONG, call_id="call_1", tool="write_file"),
        ChatMessage("tool", "x" * 10_000, call_id="call_2", tool="write_file"),
    )
    cut = emergency_all(messages, 1_000)
    assert cut[0] is messages[0]
    assert cut[4] is messages[4]
    assert [len(message.text) for message in cut[1:4]] == [10_000] * 3
    assert all("[EMERGENCY TRUNCATED: 500000 chars total." in message.text for message in cut[1:4])
    assert [m.role for m in cut] == [m.role for m in messages]
    assert cut[1].pictures == messages[1].pictures
    assert (cut[3].call_id, cut[3].tool) == ("call_1", "write_file")
    assert (cut[2].made_by, cut[2].thinking) == ("openai/m", "[]")
    assert cut[2].calls[0] is call
    assert (cut[2].calls[1].id, cut[2].calls[1].name) == ("call_2", "write_file")
    arguments = json.loads(cut[2].calls[1].arguments)
    assert arguments["path"] == "a.py"
    assert len(cut[2].calls[1].arguments) <= 10_000
    assert emergency_all(messages[:1], 1_000)[0] is messages[0]


def test_shortening_keeps_both_ends() -> None:
    cut = shorten("begin " + LONG + " end", 1_000)
    assert len(cut) == 1_000
    assert cut.startswith("begin 00000")
    assert cut.endswith(" end")
    assert "[… shortened: 500,010 characters …]" in cut
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"
    assert shorten("abcd", 0) == ""


@pytest.mark.parametrize(
    ("cluster", "size"),
    [("e\u0301", 2), (FAMILY, len(FAMILY)), ("👍🏽", 2), ("षि", 2), ("\r\n", 2), ("\ud83d\ude00", 2), ("☂\ufe0f", 2)],
)
def test_grapheme_clusters_are_not_split(cluster: str, size: int) -> None:
    text = cluster * 1_000
    for most in range(300, 300 + 2 * size):
        for cut in (limit_result(text, most), emergency(text, most)):
            assert cut[: cut.rindex("\n[")].replace(cluster, "") == ""
        both = shorten(text, most)
        head, tail = both[: both.index("\n[…")], both[both.index("…]\n") + 3 :]
        assert head.replace(cluster, "") == tail.replace(cluster, "") == ""


def test_an_endless_cluster_can_be_split() -> None:
    assert len(limit_result("e" + "\u0301" * 5_000, 1_000)) == 1_000


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"path": "a.py", "content": LONG}),
        json.dumps({"path": "a.py", "lines": LONG.split()}),
        json.dumps({"path": "a.py", "n": 3, "content": "日" * 5_000}, ensure_ascii=False),
        json.dumps({"path": "a.py", "content": "\ud800" * 5_000}),
        json.dumps({"path": "a.py", "content": '"\n' * 5_000}),
    ],
)
@pytest.mark.parametrize("most", [200, 1_000])
def test_shortened_arguments_keep_short_values(arguments: str, most: int) -> None:
    cut = shorten_arguments(arguments, most)
    assert len(cut) <= most
    assert len(cut.encode()) > 0
    values = json.loads(cut)
    assert values["path"] == "a.py"
    assert values.keys() == json.loads(arguments).keys()
    assert values.get("n", 3) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        "no json " * 100,
        json.dumps({str(n): n for n in range(60_000)}),
        json.dumps([LONG]),
        "[" * 5_000,
        '{"a": ' * 5_000,
        json.dumps(LONG),
        '{"n": 1' + "0" * 5_000 + "}",
    ],
)
def test_invalid_or_too_many_arguments_become_one_text(arguments: str) -> None:
    cut = shorten_arguments(arguments, 200)
    assert len(cut) <= 200
    assert list(json.loads(cut)) == ["shortened"]


def test_arguments_with_only_long_names_become_an_empty_object() -> None:
    assert shorten_arguments(json.dumps({f"name{n}": "" for n in range(100)}), 100) == "{}"
    assert shorten_arguments(LONG, 2) == "{}"
    assert shorten_arguments("{}", 2) == "{}"


def test_the_longest_messages_are_cut_to_one_length() -> None:
    window = Window(8_000, 50_000)
    messages = [
        ChatMessage("system", "rules " * 50),
        ChatMessage("user", "a" * 300_000),
        ChatMessage("assistant", "short", calls=(ToolCall("1", "f", json.dumps({"x": LONG})),)),
        ChatMessage("tool", "b" * 10_000, call_id="1", tool="f"),
    ]
    out = shrink_to_fit(messages, window)
    assert not window.overflows(out)
    assert window.tokens(out) > 0.98 * window.threshold
    assert out[0] is messages[0]
    assert out[2].text == "short"
    assert abs(len(out[1].text) - len(out[3].text)) < 10
    assert shrink_to_fit(out, window) == out


PICTURE = Picture("image/png", b"1")


def test_pictures_are_dropped_last_oldest_first() -> None:
    window = Window(8_000, 50_000)
    seen = tuple(Picture("image/png", bytes([n])) for n in range(8))
    old, new = ChatMessage("user", "old", seen[:4]), ChatMessage("user", "new " * 5_000, seen[4:])
    out = shrink_to_fit([old, new], window)
    assert not window.overflows(out)
    assert out[0].pictures == seen[3:4]
    assert out[0].text == "old\n[pictures left out: 3]"
    assert out[1].pictures == new.pictures
    assert len(out[1].text) > 1_000
    long = shrink_to_fit([ChatMessage("user", "x" * 100_000, seen[:3])], window)
    assert long[0].pictures == seen[:3]
    assert not window.overflows(long)


def test_messages_that_cannot_fit_are_minimised() -> None:
    window = Window(1_000, 1)
    calls = (ToolCall("1", "f", '{"x": "yyyyyy"}'),)
    out = shrink_to_fit([ChatMessage("user", "long", (PICTURE,)), ChatMessage("assistant", "", calls=calls)], window)
    assert out[0] == ChatMessage("user", "…")
    assert out[1].calls == (ToolCall("1", "f", "{}"),)


@given(
    some.lists(
        some.builds(
            lambda text, times, pictures: ChatMessage("user", text * times, (PICTURE,) * pictures),
            some.text(max_size=20),
            some.integers(0, 3_000),
            some.integers(0, 3),
        ),
        max_size=6,
    ),
    some.integers(1_000, 20_000),
)
@example([ChatMessage("user", "日" * 1_000_000)], 8_000)
def test_any_messages_fit(messages: list[ChatMessage], limit: int) -> None:
    window = Window(limit, 50_000)
    out = shrink_to_fit(messages, window)
    assert not window.overflows(out)
    assert len(out) == len(messages)
