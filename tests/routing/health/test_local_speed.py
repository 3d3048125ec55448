"""Models on the owner's machine get the time that their measured speed requires."""

from __future__ import annotations

import pytest

from routing.config.contracts import DEFAULT_CONTRACTS
from routing.health.local_speed import UNMEASURED_FIRST, UNMEASURED_TRY, LocalSpeed
from routing.types.llm import Usage

BALANCED = DEFAULT_CONTRACTS["balanced"]  # 25 s to the first word, 45 s a try, 90 s in all, 2,000 tokens


@pytest.mark.parametrize("model", ["local/qwen2.5-1.5b", "ollama/qwen2.5:3b"])
def test_an_unmeasured_model_may_be_loaded_first(model: str) -> None:
    given = LocalSpeed().contract(BALANCED, model, 600)
    assert (given.first_token_seconds, given.try_seconds) == (UNMEASURED_FIRST, UNMEASURED_TRY)
    assert given.deadline_seconds == 600


def test_a_time_limit_is_in_whole_seconds() -> None:
    pace = LocalSpeed()
    pace.note("local/m", 12.34, 40, Usage(10, 1234))
    given = pace.contract(BALANCED, "local/m", 600)
    seconds = (given.first_token_seconds, given.try_seconds, given.deadline_seconds)
    assert seconds == tuple(map(round, seconds))


def test_other_providers_keep_their_contract() -> None:
    pace = LocalSpeed()
    pace.note("openai/gpt-5.1", 20, 40, Usage(10, 10))
    assert pace.contract(BALANCED, "openai/gpt-5.1", 600) == BALANCED


@pytest.mark.parametrize(
    ("first", "seconds", "tokens", "expected"),
    [
        (1, 11, 1000, (25, 45)),  # 100 tokens a second: the contract's own times suffice
        (10, 60, 250, (25, 820)),  # 5 tokens a second: 20 s, and 800 s for 2,000 tokens
        (40, 50, 10, (80, 1800)),  # 1 token a second: up to the longest try
    ],
)
def test_times_follow_what_was_measured(
    first: float, seconds: float, tokens: int, expected: tuple[float, float]
) -> None:
    pace = LocalSpeed()
    pace.note("local/m", first, seconds, Usage(10, tokens))
    given = pace.contract(BALANCED, "local/m", 600)
    assert (given.first_token_seconds, given.try_seconds) == pytest.approx(expected)


def test_an_answer_without_a_count_measures_nothing() -> None:
    pace = LocalSpeed()
    pace.note("local/m", 1, 2, None)
    assert pace.contract(BALANCED, "local/m", 600).try_seconds == UNMEASURED_TRY
