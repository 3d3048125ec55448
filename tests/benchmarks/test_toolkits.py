"""The built-in toolkits keep the limits for their own queries."""

from __future__ import annotations

from benchmarks.toolkits import MAX_SHOWN, MAX_SMALL_TOKENS, MIN_RECALL, queries, run


def test_the_right_tools_are_shown_and_few_others() -> None:
    assert (MIN_RECALL, MAX_SHOWN, MAX_SMALL_TOKENS) == (0.97, 0.15, 800)
    section = run(misses=False)
    assert section.kept, section.text()


def test_there_are_queries_in_ten_languages() -> None:
    asked = queries()
    assert len(asked) >= 300
    assert len({each.language for each in asked}) >= 10
