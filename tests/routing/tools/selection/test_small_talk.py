"""Small talk and requests, with the shipped classifier and one trained on a few lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.training.small_talk import Utterance, learn, learn_network, learn_with_network
from routing.tools.selection.encoder import StaticEncoder
from routing.tools.selection.small_talk import BUCKETS, NETWORK_SHARE, Network, SmallTalk, hashed

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
    assert SmallTalk.load().odds(text) > 0


@pytest.mark.parametrize("text", WISHES)
def test_a_wish_is_likelier_than_small_talk(text: str) -> None:
    assert SmallTalk.load().odds(text) < 0


def test_with_a_vector_the_network_has_its_share_of_the_odds() -> None:
    network = Network(np.eye(2, dtype=np.float32), np.zeros(2, np.float32), np.array([10, -10], np.float32), 0.0)
    classifier = SmallTalk(np.zeros(BUCKETS, np.int8), unit=1.0, constant=2.0, network=network)
    assert classifier.odds("hello") == 2
    talk, wish = np.eye(2, dtype=np.float32)
    assert classifier.odds("hello", talk) == pytest.approx(2 + NETWORK_SHARE * 8)
    assert classifier.odds("hello", wish) == pytest.approx(2 - NETWORK_SHARE * 12)
    assert SmallTalk(classifier.weights, 1.0, 2.0).odds("hello", talk) == 2


@pytest.mark.parametrize(("text", "is_talk"), [("greetings to you my dear", True), ("purchase two tickets", False)])
def test_vectors_know_synonyms(text: str, is_talk: bool) -> None:
    network = SmallTalk.load().network
    assert network is not None
    assert (network.odds(StaticEncoder.load().encode([text]))[0] > 0) == is_talk


def test_a_network_learns_its_utterances() -> None:
    said = [*(Utterance(text, True) for text in TALK), *(Utterance(text, False) for text in WISHES)]
    found = learn_network(said).odds(StaticEncoder.load().encode([each.text for each in said]))
    assert ((found > 0) == [each.small_talk for each in said]).all()


@pytest.mark.parametrize("text", ["", "?!", "😶‍🌫️", "天气", "a" * 10_000])
def test_any_text_has_odds(text: str) -> None:
    assert np.isfinite(SmallTalk.load().odds(text))


def test_words_order_and_question_marks_are_features() -> None:
    assert {*hashed("you are")} != {*hashed("are you")} != {*hashed("are you?")}
    assert {*hashed("are you?")} == {*hashed("Are YOU？")}
    places = hashed("hello hello hello")
    assert len(places) == len({*places})
    assert places.max() < BUCKETS


def test_training_uses_weights() -> None:
    said = [*(Utterance(text, True) for text in TALK), *(Utterance(text, False) for text in WISHES)]
    made = learn(said)
    assert all((made.odds(each.text) > 0) == each.small_talk for each in said)
    doubtful = [*said, Utterance("well well", True, 9.0), Utterance("well well", False)]
    light = [*said, Utterance("well well", True), Utterance("well well", False, 9.0)]
    assert learn(doubtful).odds("well well") > learn(light).odds("well well")


def test_stored_weights_are_read_back(tmp_path: Path) -> None:
    made = learn_with_network([Utterance("hello", True), Utterance("call Anna", False)])
    path = tmp_path / "small_talk.npz"
    made.save(path)
    vector = StaticEncoder.load().encode(["hello"])[0]
    assert SmallTalk.load(path).odds("hello") == pytest.approx(made.odds("hello"))
    assert SmallTalk.load(path).odds("hello", vector) == pytest.approx(made.odds("hello", vector), abs=0.01)
