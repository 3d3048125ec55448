"""A conversation that is too long: what stays, what is shortened, what is dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from routing.turn.compaction import cut, drop_oldest, rounds, shorten_results
from routing.turn.context_window import Window
from routing.types.llm import ChatMessage, ToolCall
from tests.routing.turn.patterns import SMALL, conversation, whole


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        ("", ""),
        ("uaua", "u a u a"),
        ("ucra", "u cr a"),
        ("uCrra", "u Crr a"),
        ("ucrcrCrra", "u cr cr Crr a"),
        ("uCrura", "u Crur a"),
        ("uccrra", "u ccrr a"),
        ("uxa", "u x a"),
        ("ucu", "u c u"),
        ("uCru", "u Cr u"),
        ("xxc", "x x c"),
    ],
)
def test_calls_and_their_results_are_one_group(pattern: str, groups: str) -> None:
    assert " ".join("".join(each.text[0] for each in group) for group in rounds(conversation(pattern))) == groups


def test_call_ids_are_scoped_to_a_turn() -> None:
    call = ChatMessage("assistant", "", calls=(ToolCall("0", "f", "{}"),))
    result, user = ChatMessage("tool", "r", call_id="0", tool="f"), ChatMessage("user", "u")
    assert [len(group) for group in rounds([call, result, user, call, result, user, result])] == [2, 1, 2, 1, 1]
    assert [len(group) for group in rounds([call, user, call, result])] == [1, 1, 2]
    twins = ChatMessage("assistant", "", calls=(ToolCall("", "f", "{}"),) * 2)
    blank = ChatMessage("tool", "r", call_id="", tool="f")
    assert [len(group) for group in rounds([twins, blank, blank, user])] == [3, 1]


@pytest.mark.parametrize(
    ("pattern", "keep", "first"),
    [
        ("uaua", 2, 2),
        ("uaua", 1, 3),
        ("uaua", 4, 0),
        ("uaua", 9, 0),
        ("uaua", 0, 4),
        ("uaua", -1, 4),
        ("", 20, 0),
        ("ua" * 20 + "u", 20, 21),
        ("ucra", 2, 1),
        ("ucra", 3, 1),
        ("ucra", 1, 3),
        ("uCrra", 2, 1),
        ("uCrra", 3, 1),
        ("uacrcrcr", 3, 4),
        ("Crrrrr"[:3], 1, 0),
        ("uxu", 2, 1),
        ("ucu", 2, 1),
    ],
)
def test_compaction_never_splits_a_call_and_its_result(pattern: str, keep: int, first: int) -> None:
    assert cut(conversation(pattern), keep) == first


@given(some.text("uacC", max_size=30), some.integers(0, 35))
def test_at_least_the_given_number_of_messages_stays(pattern: str, keep: int) -> None:
    messages = conversation(pattern.replace("c", "cr").replace("C", "Crr"))
    at = cut(messages, keep)
    assert len(messages) - at >= min(keep, len(messages))
    assert len(messages) - at <= keep + 2
    assert whole(messages[:at])
    assert whole(messages[at:])


def test_old_results_are_shortened_only_as_needed() -> None:
    messages = conversation("ucrcrcrcr")
    for at in (2, 4, 6, 8):
        messages[at] = ChatMessage("tool", f"{at}" * 7_000, call_id=messages[at].call_id, tool="f")
    out = shorten_results(messages, SMALL)
    assert not SMALL.overflows(out)
    assert [message is old for message, old in zip(out, messages, strict=True)] == [n not in (2, 4) for n in range(9)]
    assert out[2].text == "2" * 500 + "\n[… shortened: 7,000 characters]"
    assert (out[2].call_id, out[2].tool) == (messages[2].call_id, "f")
    assert shorten_results(out, SMALL) == out


def test_the_newest_result_is_spared() -> None:
    out = shorten_results(conversation("ucrcrcr", 31_000), SMALL)
    assert [len(m.text) == 31_000 for m in out if m.role == "tool"] == [False, False, True]
    assert all(len(m.text) == 31_000 for m in out if m.role != "tool")
    assert sum("[… shortened: 31,000 characters]" in m.text for m in out) == 2


def test_unchanged_messages_are_the_same_objects() -> None:
    for messages in (conversation("ucrcr", 1_000) * 9, conversation("ucrcr", 100)):
        assert all(new is old for new, old in zip(shorten_results(messages, SMALL), messages, strict=True))


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("suau", "suau"),
        ("aua", "aua"),
        ("suauauau", "suauau"),
        ("suauauauau", "suauau"),
        ("sucracrau", "su"),
        ("sucrauacru", "suacru"),
        ("ssuuuuuuuua", "ssuuua"),
        ("usuuuuuu", "suuuuu"),
        ("suauaucrcrcr", "sucrcrcr"),
        ("acracracra", "a"),
        ("scrcrcr", "scr"),
    ],
)
def test_the_oldest_rounds_are_dropped_up_to_a_user_message(pattern: str, left: str) -> None:
    messages = conversation(pattern, 3_100)
    out, count = drop_oldest(messages, SMALL)
    assert "".join(message.text[0] for message in out) == left
    assert count == len(pattern) - len(left)
    assert not SMALL.overflows(out)
    assert whole(out)


def test_fitting_messages_are_unchanged() -> None:
    messages = conversation("suacra", 100)
    assert drop_oldest(messages, SMALL) == (tuple(messages), 0)
    assert drop_oldest([], SMALL) == ((), 0)


def test_a_huge_last_message_is_shortened_in_the_middle() -> None:
    messages = [*conversation("suaua", 1_000), ChatMessage("user", "Question: " + "x" * 1_000_000 + " why?")]
    out, count = drop_oldest(messages, SMALL)
    assert [message.role for message in out] == ["system", "user"]
    assert count == 4
    assert out[0] is messages[0]
    assert out[1].text.startswith("Question: ")
    assert out[1].text.endswith(" why?")
    assert not SMALL.overflows(out)
    assert SMALL.tokens(out) > 0.98 * SMALL.threshold


def test_a_long_turn_is_truncated_without_splitting_pairs() -> None:
    messages = conversation("suau" + "cr" * 200, 2_000)
    out, count = drop_oldest(messages, SMALL)
    assert count == 2
    assert whole(out)
    assert len(out) == 402
    assert not SMALL.overflows(out)


@given(
    some.text("suacCxr", max_size=25).map(lambda pattern: conversation(_answerable(pattern), 1)),
    some.lists(some.sampled_from([0, 10, 900, 9_000, 90_000]), min_size=60, max_size=60),
    some.integers(2_000, 40_000),
)
def test_any_messages_fit_and_keep_call_pairs_complete(
    messages: list[ChatMessage], sizes: list[int], limit: int
) -> None:
    longer = [
        ChatMessage(m.role, m.text + "日x" * (size // 2), calls=m.calls, call_id=m.call_id, tool=m.tool)
        for m, size in zip(messages, sizes, strict=False)
    ]
    window = Window(limit, 30_000)
    out, count = drop_oldest(longer, window)
    assert not window.overflows(out)
    assert count == len(longer) - len(out)
    ids = [call.id for m in out for call in m.calls]
    results = [m.call_id for m in out if m.role == "tool"]
    pairs = {call.id for m in longer for call in m.calls} & {m.call_id for m in longer}
    assert set(ids) & pairs == set(results) & pairs
    users = [m for m in longer if m.role == "user"]
    assert not users or any(m.role == "user" and m.text[:3] == users[-1].text[:3] for m in out)


def _answerable(pattern: str) -> str:
    """The pattern without results that have no call; `x` stands for those."""
    open_calls, kept = 0, ""
    for kind in pattern:
        open_calls += {"c": 1, "C": 2, "r": -1}.get(kind, 0)
        kept += "x" if open_calls < 0 else kind
        open_calls = max(0, open_calls)
    return kept
