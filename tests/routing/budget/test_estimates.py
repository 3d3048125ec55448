"""The expected size of a call before it is made."""

from __future__ import annotations

from routing.budget.estimates import MAX_CALLS, PRIOR, OutputLengths


def test_without_history_the_estimate_is_a_share_of_the_limit() -> None:
    assert OutputLengths().expected("balanced", "a/x", 2_000) == 500


def test_history_replaces_the_share() -> None:
    outputs = OutputLengths()
    seen = [outputs.expected("deep", "a/x", 80_000)]
    for _ in range(PRIOR):
        outputs.note("deep", "a/x", 1_000)
        seen.append(outputs.expected("deep", "a/x", 80_000))
    assert seen == [20_000, 15_250, 10_500, 5_750, 1_000]
    assert outputs.expected("balanced", "a/x", 2_000) == 500, "another tier asks for another effort"
    assert outputs.expected("deep", "a/y", 80_000) == 20_000


def test_the_newest_calls_count_most() -> None:
    outputs = OutputLengths()
    for _ in range(10 * MAX_CALLS):
        outputs.note("smart", "a/x", 100)
    for _ in range(3 * MAX_CALLS):
        outputs.note("smart", "a/x", 2_000)
    assert 1_800 < outputs.expected("smart", "a/x", 4_000) < 2_000


def test_the_estimate_is_capped_by_the_calls_limit() -> None:
    outputs = OutputLengths()
    for _ in range(PRIOR):
        outputs.note("smart", "a/x", 5_000)
    assert outputs.expected("smart", "a/x", 1_000) == 1_000
