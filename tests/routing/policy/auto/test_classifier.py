"""The classifier: hashed and dense features, and weights in another format."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from zlib import compress

import pytest

from routing.policy.auto.chooser import Chooser, default_chooser
from routing.policy.auto.classifier import (
    BUCKETS,
    CHARACTERS,
    DENSE_FEATURES,
    FIRST_WORDS,
    LAST_WORDS,
    RAISED_TIERS,
    LinearClassifier,
    buckets,
    dense_features,
)
from routing.policy.auto.phrases import IDEAS, Phrases
from routing.policy.auto.preprocessing import preprocess
from routing.policy.auto.scoring import score
from routing.types.tiers import TIERS, Tier

BALANCED: Mapping[Tier, float] = {"balanced": 1.0}


def classifier_for(word: str, tier: Tier, base: Mapping[Tier, float] = BALANCED) -> LinearClassifier:
    """A classifier that finds a tier in one word, and has the odds `base` for everything."""
    words = bytearray(BUCKETS * len(RAISED_TIERS))
    for bucket in buckets(preprocess(word)):
        words[bucket * len(RAISED_TIERS) + RAISED_TIERS.index(tier)] = 100
    nothing = [[0.0] * len(TIERS)] * (DENSE_FEATURES - 1)
    return LinearClassifier(
        bytes(words), [1.0] * len(RAISED_TIERS), [[base.get(each, 0.0) for each in TIERS], *nothing]
    )


def dense_features_of(text: str) -> tuple[float, ...]:
    message = preprocess(text)
    hits = default_chooser().phrases.find(message)
    return dense_features(message, hits, score(message, hits))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Kündigung", "Kündigungen"),
        ("договор", "договора"),
        ("tenant", "tenants"),
        ("prova", "prove"),
        ("보증금", "보증금을"),
        ("房东扣押金", "押金"),
        ("Hochzeitskleid", "Brautkleider"),
    ],
)
def test_words_of_one_stem_share_features(one: str, other: str) -> None:
    assert buckets(preprocess(one)) & buckets(preprocess(other))


def test_other_words_share_no_features() -> None:
    assert not buckets(preprocess("tenant")) & buckets(preprocess("omelette"))


def test_the_number_of_features_is_bounded() -> None:
    short = " ".join(f"{letter}{number}" for number in range(9_999) for letter in "abc")
    assert len(buckets(preprocess(short))) <= 3 * (FIRST_WORDS + LAST_WORDS)
    assert len(buckets(preprocess("".join(map(chr, range(0x4E00, 0x9000)))))) <= 3 * CHARACTERS
    assert len(buckets(preprocess("x" * 100_000))) < 100


@pytest.mark.parametrize("text", ["", "🎉", "\ud800 hi", "ﷺ" * 500])
def test_every_text_has_dense_features(text: str) -> None:
    assert len(dense_features_of(text)) == DENSE_FEATURES
    assert dense_features_of(text)[0] == 1.0


def test_dense_features_distinguish_a_long_story_from_a_short_question() -> None:
    short, long = (
        dense_features_of("how far is it?"),
        dense_features_of("I have 3 dogs, 2 cats and 5 birds. " * 5 + "Is it many?"),
    )
    assert [at for at in range(DENSE_FEATURES) if short[at] != long[at]]
    assert short[3] == 1.0
    assert long[3] == 0.0


@pytest.mark.parametrize("tier", ["smart", "coding", "deep"])
def test_the_classifier_decides_if_nothing_is_certain(tier: Tier) -> None:
    chooser = Chooser(Phrases([]), classifier_for("zweispurig", tier))
    assert chooser.choose("und zweispurig noch dazu").tier == tier
    assert chooser.choose("ein Omelett bitte").tier == "balanced"


def test_the_classifier_overrides_phrases_that_it_weighs_itself() -> None:
    chooser = Chooser(default_chooser().phrases, classifier_for("none", "coding", {"smart": 1.0}))
    assert chooser.choose("why does my Python function raise an exception?").tier == "smart"
    assert chooser.choose("name a colour").tier == "smart"


def test_phrases_are_features_in_every_language() -> None:
    idea = 16 + IDEAS.index("prove")
    assert dense_features_of("prove it")[idea] == dense_features_of("доказательство")[idea] == 1.0
    assert dense_features_of("a nice day")[idea] == 0.0


def test_a_word_counts_less_among_many() -> None:
    """But more than its share, so that many such words add up."""
    likely = [probability_of("zweispurig", text) for text in ("zweispurig", "zweispurig und laut", "und laut")]
    assert likely[0] > likely[1] > likely[2] == pytest.approx(0.25)


def probability_of(word: str, text: str) -> float:
    """The probability of smart if only the word speaks for it, a little."""
    words = bytearray(BUCKETS * len(RAISED_TIERS))
    for bucket in buckets(preprocess(word)):
        words[bucket * len(RAISED_TIERS)] = 1
    nothing = [[0.0] * len(TIERS)] * DENSE_FEATURES
    message = preprocess(text)
    classifier = LinearClassifier(bytes(words), [0.1] * len(RAISED_TIERS), nothing)
    return classifier.predict(message, {}, score(message, {})).probabilities[RAISED_TIERS[0]]


def test_the_reason_is_readable() -> None:
    heard = Chooser(Phrases([]), classifier_for("zweispurig", "smart")).choose("und zweispurig noch dazu")
    assert heard.evidence == "sounds like a hard question"


def test_certain_features_override_the_classifier() -> None:
    deaf = Chooser(default_chooser().phrases, classifier_for("none", "coding"))
    assert deaf.choose("Prove that there are infinitely many primes").tier == "deep"
    assert deaf.choose("why?\n```go\nch := make(chan int)\n```").tier == "coding"
    assert (
        Chooser(default_chooser().phrases, classifier_for("none", "coding", {"deep": 1.0})).choose("17 * 23").tier
        == "balanced"
    )


def test_thinking_words_are_matched_as_phrases() -> None:
    loud = Chooser(default_chooser().phrases, classifier_for("none", "coding", {"deep": 1.0}))
    assert loud.choose("don't think too hard about it, name a colour").tier == "balanced"
    assert loud.choose("name a colour").tier == "deep"


def test_a_hint_of_code_is_enough_after_code() -> None:
    base: Mapping[Tier, float] = {"balanced": 1.0, "coding": 0.6, "smart": -3.0, "deep": -3.0}
    chooser = Chooser(Phrases([]), classifier_for("none", "coding", base))
    assert chooser.choose("the second file is missing now", previous=["coding"]).tier == "balanced"
    assert chooser.choose("the second file is missing now", previous=["coding"], had_code=True).tier == "coding"


def test_shares_are_likelihoods() -> None:
    message = preprocess("My landlord keeps the deposit, what can I do?")
    classifier = default_chooser().classifier
    assert classifier is not None
    prediction = classifier.predict(message, {}, score(message, {}))
    assert sum(prediction.probabilities.values()) == pytest.approx(1.0)
    assert prediction.tier == max(prediction.probabilities, key=lambda tier: prediction.probabilities[tier])


def test_malformed_weights_are_refused(tmp_path: Path) -> None:
    few = {"words": b64encode(compress(b"few")).decode(), "scale": [1.0] * 4, "traits": []}
    (tmp_path / "odd.json").write_text(json.dumps(few), "ascii")
    with pytest.raises(ValueError, match="made for another form"):
        LinearClassifier.load(tmp_path / "odd.json")
