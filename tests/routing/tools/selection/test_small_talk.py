"""Small talk and requests, with the shipped classifier and one trained on a few lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.training.small_talk import Utterance, learn
from routing.tools.selection.small_talk import BUCKETS, SmallTalk, hashed

TALK = (
    "hello there",
    "thank you so much",
    "how old are you",
    "do you like me?",
    "you are funny",
    "good night my friend",
)
WISHES = (
    "turn off the light",
    "book a table for two",
    "what is the weather in Rome?",
    "convert ten miles",
    "call Anna",
)


@pytest.mark.parametrize("text", TALK)
def test_small_talk_is_likelier_than_a_wish(text: str) -> None:
    assert SmallTalk.load().odds([text]) > 0


@pytest.mark.parametrize("text", WISHES)
def test_a_wish_is_likelier_than_small_talk(text: str) -> None:
    assert SmallTalk.load().odds([text]) < 0


def test_of_several_texts_the_mean_counts() -> None:
    shipped = SmallTalk.load()
    apart = [shipped.odds([text]) for text in ("hello there", "call Anna")]
    assert shipped.odds(["hello there", "call Anna"]) == pytest.approx(sum(apart) / 2)


@pytest.mark.parametrize("text", ["", "?!", "😶‍🌫️", "天气", "a" * 10_000])
def test_any_text_has_odds(text: str) -> None:
    assert np.isfinite(SmallTalk.load().odds([text]))


def test_words_order_and_question_marks_are_features() -> None:
    assert {*hashed("you are")} != {*hashed("are you")} != {*hashed("are you?")}
    assert {*hashed("are you?")} == {*hashed("Are YOU？")}
    places = hashed("hello hello hello")
    assert len(places) == len({*places})
    assert places.max() < BUCKETS


def test_training_uses_weights() -> None:
    said = [*(Utterance(text, True) for text in TALK), *(Utterance(text, False) for text in WISHES)]
    made = learn(said)
    assert all((made.odds([each.text]) > 0) == each.small_talk for each in said)
    doubtful = [*said, Utterance("well well", True, 9.0), Utterance("well well", False)]
    light = [*said, Utterance("well well", True), Utterance("well well", False, 9.0)]
    assert learn(doubtful).odds(["well well"]) > learn(light).odds(["well well"])


def test_stored_weights_are_read_back(tmp_path: Path) -> None:
    made = learn([Utterance("hello", True), Utterance("call Anna", False)])
    path = tmp_path / "small_talk.npz"
    np.savez_compressed(path, weights=made.weights, unit=made.unit, constant=made.constant)
    assert SmallTalk.load(path).odds(["hello"]) == pytest.approx(made.odds(["hello"]))
