"""The size of a conversation, and when it is too large."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from routing.turn.context_window import Window
from routing.types.llm import ChatMessage, Picture, ToolCall
from routing.types.tokens import estimate, text_weight, weight


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0.0),
        ("a" * 35, 10.0),
        ("ä" * 35, 10.0),
        ("ạ" * 35, 10.0),
        ("“—…”" * 7, 8.0),
        ("я" * 28, 11.0),
        ("ह" * 28, 14.0),
        ("ก" * 28, 17.0),
        ("ከ" * 28, 66.0),
        ("∀" * 28, 58.0),
        ("Ꭰ" * 28, 94.0),
        ("ଓ" * 28 + "த" * 28, 34.0 + 14.0),
        ("ກ" * 28, 56.0),
        ("\u0301" * 28, 58.0),
        ("日" * 35, 35.0),
        ("한글" * 10, 20.0),
        ("かな、。" * 10, 40.0),
        ("ＡＢ" * 10, 20.0),
        ("🚀" * 28, 58.0),
        ("𠀀" * 28, 94.0),
        ("日aaaaaaa" * 10, 30.0),
        ("\ud800a\udc00" * 7, (94 + 8 + 8) / 4),
    ],
)
def test_token_estimates_depend_on_the_script(text: str, tokens: float) -> None:
    assert estimate([user(text)]) == tokens


def test_only_totals_are_rounded() -> None:
    assert estimate([user("x" * 140_000)]) == 40_000.0
    assert estimate([user("x" * 140)] * 1_000) == 40_000.0
    assert estimate([user("x")] * 140_000) == 40_000.0
    assert estimate([user("x")]) == 1 / 3.5


def test_calls_and_pictures_count_and_thinking_does_not() -> None:
    call = ToolCall("call_1", "read_file", '{"path": "x"}')
    plain = ChatMessage("assistant", "abc", calls=(call,), thinking="[...]" * 100)
    assert estimate([plain]) == (3 + 9 + 13) / 3.5
    assert estimate([ChatMessage("user", "", (Picture("image/png", b"1"),) * 2)]) == 2_000.0
    assert estimate([ChatMessage("tool", "abcdefg", call_id="call_1" * 9, tool="read_file")]) == 2.0


@pytest.mark.parametrize(
    ("limit", "most", "overhead", "threshold"),
    [
        (128_000, 1_000_000, 8_000, 102_400),
        (128_000, 50_000, 8_000, 50_000),
        (64_000, 50_000, 8_000, 50_000),
        (63_992, 1_000_000, 7_999, 51_193.6),
        (8_000, 50_000, 1_000, 6_400),
        (1_000, 50_000, 125, 800),
        (1_001, 50_000, 125.125, 800.8),
    ],
)
def test_overhead_and_threshold(limit: int, most: int, overhead: float, threshold: float) -> None:
    window = Window(limit, most)
    assert window.overhead == overhead
    assert window.threshold == pytest.approx(threshold, abs=1e-9)
    assert window.tokens([user("x" * 35)]) == 10 + overhead


@pytest.mark.parametrize(
    ("window", "room"),
    [(Window(8_000, 50_000), 5_400), (Window(128_000, 50_000), 42_000), (Window(128_000, 200_000), 94_400)],
)
def test_a_prompt_at_the_threshold_fits(window: Window, room: int) -> None:
    exactly = [user("日" * room)]
    assert not window.overflows(exactly)
    assert window.takes(weight(exactly))
    one_more = [*exactly, user("a")]
    assert window.overflows(one_more)
    assert not window.takes(weight(one_more))
    assert not window.overflows([user("a" * (room * 7 // 2))])


@given(some.lists(some.text(some.characters(exclude_categories=())), max_size=5))
def test_the_total_is_the_sum_of_its_parts(texts: list[str]) -> None:
    signs = [sign for text in texts for sign in text]
    assert weight([user(text) for text in texts]) == sum(map(text_weight, texts)) == sum(map(text_weight, signs))


@given(some.text(some.characters(max_codepoint=0x1FF)))
def test_latin_text_has_3_5_characters_per_token(text: str) -> None:
    assert estimate([user(text)]) == len(text) / 3.5


@given(some.characters())
def test_each_character_counts_between_0_and_4_tokens(sign: str) -> None:
    assert 8 <= text_weight(sign) <= 4 * 28
