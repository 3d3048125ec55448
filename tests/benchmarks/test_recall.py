"""The benchmark of `recall`: its pairs, and the encoders that need no further package."""

from __future__ import annotations

from benchmarks.recall import pairs, run


def test_each_fact_has_a_question_in_words_of_its_own() -> None:
    asked = pairs()
    assert len({fact for fact, _ in asked}) == len({question for _, question in asked}) == 40


def test_the_shipped_encoder_finds_more_facts_than_words() -> None:
    _, words, static = run(["off", "static"], quick=False).lines
    assert float(words[2]) < float(static[2])
