"""The prompt of a turn: what goes in, what is left out first."""

import pytest

from routing.calls import ChatMessage, Picture
from routing.prompt import BASE_INSTRUCTIONS, Instructions, build, estimate_tokens

RULES = Instructions("", "", "Saturday, 2026-11-21")


def talk(*texts: str) -> list[ChatMessage]:
    return [ChatMessage("assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]


def test_instructions_are_the_owners_then_the_persons_then_the_date() -> None:
    text = Instructions("Be a pirate.", "I am Bob.", "Saturday, 2026-11-21").text()
    assert text.split("\n\n") == [
        "Be a pirate.",
        "About the user, in their own words: I am Bob.",
        "Today is Saturday, 2026-11-21.",
    ]
    assert RULES.text().startswith(BASE_INSTRUCTIONS)


def test_everything_that_fits_goes_in_order() -> None:
    messages, fit = build(RULES, talk("a", "b", "c", "d"), "e", (), 10_000)
    assert [(m.role, m.text) for m in messages[1:]] == [
        ("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"), ("user", "e"),
    ]  # fmt: skip
    assert messages[0].role == "system" and fit.dropped == 0 and fit.limit == 10_000


@pytest.mark.parametrize("limit", [1_800, 2_000, 2_250, 2_500, 2_750, 3_000])
def test_the_oldest_are_left_out_first_and_the_rest_begins_with_a_person(limit: int) -> None:
    history = talk(*(f"{n} " + "x" * 700 for n in range(20)))
    messages, fit = build(RULES, history, "now", (), limit)
    kept = [m for m in messages if m.role != "system"]
    assert kept[0].role == "user" and kept[-1].text == "now"
    assert [m.text for m in kept[:-1]] == [m.text for m in history[fit.dropped :]]
    assert 0 < fit.dropped < 20 and fit.tokens <= 0.8 * limit
    assert fit.dropped % 2 == 0


def test_what_was_not_even_read_counts_as_left_out() -> None:
    assert build(RULES, talk("a", "b"), "c", (), 10_000, missing=7)[1].dropped == 7


def test_the_question_goes_out_however_long_it_is() -> None:
    messages, fit = build(RULES, talk("a", "b"), "q" * 50_000, (), 1_000)
    assert [m.text[:1] for m in messages[1:]] == ["q"]
    assert fit.dropped == 2 and fit.tokens > fit.limit


def test_pictures_weigh_something() -> None:
    picture = Picture("image/png", b"1")
    plain, seen = (build(RULES, [], "q", pictures, 10_000)[1].tokens for pictures in ((), (picture, picture)))
    assert seen - plain == 2_000


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("a" * 3500, 1000, 1001),
        ("", 1, 1),
        ("日" * 1000, 1000, 1001),
        ("äöü " * 875, 1000, 1001),
        ("日a" * 700, 900, 901),
    ],
)
def test_tokens_are_estimated_by_script(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high
