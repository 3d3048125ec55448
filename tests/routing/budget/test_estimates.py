"""What a call is expected to take, before it is made."""

from __future__ import annotations

from routing.budget.estimates import MAX_CALLS, PRIOR, Outputs


def test_a_model_without_experience_takes_a_share_of_what_it_may() -> None:
    assert Outputs().expected("balanced", "a/x", 2_000) == 500


def test_experience_takes_the_place_of_the_share() -> None:
    outputs = Outputs()
    seen = [outputs.expected("deep", "a/x", 80_000)]
    for _ in range(PRIOR):
        outputs.note("deep", "a/x", 1_000)
        seen.append(outputs.expected("deep", "a/x", 80_000))
    assert seen == [20_000, 15_250, 10_500, 5_750, 1_000]
    assert outputs.expected("balanced", "a/x", 2_000) == 500, "another tier asks for another effort"
    assert outputs.expected("deep", "a/y", 80_000) == 20_000


def test_the_newest_calls_count_most() -> None:
    outputs = Outputs()
    for _ in range(10 * MAX_CALLS):
        outputs.note("smart", "a/x", 100)
    for _ in range(3 * MAX_CALLS):
        outputs.note("smart", "a/x", 2_000)
    assert 1_800 < outputs.expected("smart", "a/x", 4_000) < 2_000


def test_never_more_than_the_call_may_have() -> None:
    outputs = Outputs()
    for _ in range(PRIOR):
        outputs.note("smart", "a/x", 5_000)
    assert outputs.expected("smart", "a/x", 1_000) == 1_000
