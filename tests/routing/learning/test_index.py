"""Which examples are near a message, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from routing.learning.index import NEAR, NEAR_BY_WORDS, NEAR_TIER, ExampleIndex
from routing.learning.vectors import pack
from routing.types.learning import WORDS, Example, Learned, Lesson, Signal
from routing.types.vectors import Floats

ENCODER = "some:1"


def row(cosine: float) -> Floats:
    """A vector with this cosine to the message."""
    return np.array([cosine, (1 - cosine**2) ** 0.5, 0.0], np.float32)


MESSAGE = row(1.0)


def example(signal: Signal, subject: str, cosine: float = 1.0, encoder: str = ENCODER) -> Example:
    return Example(1, Lesson(signal, subject), "t", encoder, pack(row(cosine)))


def about(*examples: Example, encoder: str = ENCODER, vector: Floats = MESSAGE) -> Learned:
    return ExampleIndex.of(examples, encoder).about(vector, 2)


@pytest.mark.parametrize(
    ("signal", "learned"),
    [
        ("found", Learned(2, called={"a": 1})),
        ("named", Learned(2, called={"a": 1})),
        ("off", Learned(2, unwanted={"a": 1})),
        ("disliked", Learned(2, unwanted={"a": 1})),
    ],
)
def test_a_signal_about_a_tool_shows_or_hides(signal: Signal, learned: Learned) -> None:
    assert about(example(signal, "a")) == learned


def test_a_signal_about_a_tier_chooses_or_raises() -> None:
    assert about(example("tier", "smart"), example("tier", "smart"), example("disliked tier", "deep")) == Learned(
        2, chosen={"smart": 2}, disliked={"deep": 1}
    )


@pytest.mark.parametrize(
    ("signal", "encoder", "near"),
    [("found", ENCODER, NEAR), ("found", WORDS, NEAR_BY_WORDS), ("tier", ENCODER, NEAR_TIER)],
)
def test_only_examples_that_are_near_count(signal: Signal, encoder: str, near: float) -> None:
    assert about(example(signal, "smart", near + 0.02, encoder), encoder=encoder)
    assert not about(example(signal, "smart", near - 0.02, encoder), encoder=encoder)


def test_the_length_of_a_message_s_vector_does_not_count() -> None:
    assert about(example("found", "a", 0.5), vector=100 * MESSAGE)
    assert not about(example("found", "a", 0.3), vector=100 * MESSAGE)


def test_examples_of_another_encoder_or_width_do_not_count() -> None:
    wide = Example(2, Lesson("found", "b"), "t", ENCODER, pack(np.ones(5, np.float32)))
    assert about(wide, example("found", "a"), example("found", "c", encoder="other")) == Learned(2, called={"a": 1})
    assert about(example("found", "a"), vector=np.ones(5, np.float32)) == Learned(2)
    assert about(example("found", "a"), vector=np.zeros(3, np.float32)) == Learned(2)
    assert about() == Learned(2)


def test_an_example_tells_what_the_others_say_about_its_message() -> None:
    examples = (example("found", "a"), example("found", "a", 0.9), example("off", "b", 0.1))
    said = ExampleIndex.of(examples, ENCODER).about_each(2)
    assert [(each, learned.called, learned.unwanted) for each, learned in said] == [
        (examples[0], {"a": 2}, {}),
        (examples[1], {"a": 2}, {"b": 1}),
        (examples[2], {"a": 1}, {"b": 1}),
    ]
