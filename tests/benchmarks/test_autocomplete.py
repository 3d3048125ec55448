"""A tiny run of the autocomplete benchmark, whose verdict can fail."""

from __future__ import annotations

import pytest

from benchmarks import autocomplete
from benchmarks.autocomplete import LIMIT_MS, TYPED


def test_a_tiny_run_has_every_group() -> None:
    assert [line[0] for line in autocomplete.run(1).lines[1:]] == list(TYPED)


@pytest.mark.parametrize(("slowest", "kept"), [(LIMIT_MS, True), (LIMIT_MS + 0.1, False)])
def test_the_slowest_answer_counts(slowest: float, kept: bool) -> None:
    found = {group: [1.0, 2.0] for group in TYPED} | {"mistyped": [1.0, slowest, 1.0]}
    section = autocomplete.report(found, "")
    assert section.kept is kept
    assert section.text().count("✗") == (0 if kept else 1)
