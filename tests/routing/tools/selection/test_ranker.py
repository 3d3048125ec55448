"""Keywords first, embeddings second: what is embedded, what decides, and edge cases."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from routing.tools.selection import build_selector
from routing.tools.selection.entries import NO_TOOL, entries
from routing.tools.selection.features import DENSE, LEXICAL
from routing.tools.selection.fusion import Fusion, Policy
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.ranker import CLAUSE_SHARE, Decision, EncodingRanker, Ranker
from routing.tools.selection.small_talk import BUCKETS, Network, SmallTalk
from tests.routing.tools.selection.catalogue import CATALOGUE, EXAMPLES, FUSION, OPEN, TOPICS, TopicEncoder, weights


@pytest.fixture(scope="module")
def glossary() -> Glossary:
    return Glossary.load()


@pytest.fixture
def encoder() -> TopicEncoder:
    return TopicEncoder()


@pytest.fixture
def selector(glossary: Glossary, encoder: TopicEncoder) -> EncodingRanker:
    made = EncodingRanker(made_of(glossary), encoder)
    encoder.asked.clear()
    return made


def made_of(glossary: Glossary, fusion: Fusion = FUSION, policy: Policy = OPEN) -> Ranker:
    return Ranker(entries(CATALOGUE, EXAMPLES), EXAMPLES[NO_TOOL], glossary, fusion, policy)


def stages(decision: Decision) -> dict[str, str]:
    return {one.name: one.stage for one in decision.chosen}


def test_a_certain_keyword_is_not_embedded(selector: EncodingRanker, encoder: TopicEncoder) -> None:
    assert stages(selector.decide("the forecast")) == {"weather": "keyword"}
    assert encoder.asked == []


def test_clauses_undecided_by_keywords_are_embedded(selector: EncodingRanker, encoder: TopicEncoder) -> None:
    assert stages(selector.decide("sunny or drizzle")) == {"weather": "embed"}
    assert encoder.asked == ["sunny or drizzle"]


def test_each_clause_is_decided_separately(selector: EncodingRanker, encoder: TopicEncoder) -> None:
    message = "show the forecast and hum a tune"
    assert [part.text for part in selector.ranker.clauses(message)][1:] == ["show the forecast", "hum a tune"]
    assert stages(selector.decide(message)) == {"weather": "keyword", "playMusic": "embed"}
    assert encoder.asked == ["hum a tune"], "the whole message holds the keyword, too"


@pytest.mark.parametrize("message", ["Umbrella?", "wake me", "song"])
def test_a_lone_keyword_selects_its_toolkit_at_any_odds(glossary: Glossary, message: str) -> None:
    shut = made_of(glossary, policy=replace(OPEN, gate=1e9))
    decision = shut.decide(shut.clauses(message), {})
    assert [(one.probability, one.stage) for one in decision.chosen] == [(1.0, "keyword")]
    assert shut.decide(shut.clauses(f"{message} gone"), {}).chosen == ()


def test_a_gloss_is_embedded_beside_the_original(selector: EncodingRanker, encoder: TopicEncoder) -> None:
    selector.decide("wird es morgen regnen")
    said, gloss = encoder.asked
    assert said == "wird es morgen regnen"
    assert "rain" in gloss.split()


def test_an_open_text_is_embedded_once(selector: EncodingRanker) -> None:
    parts = selector.ranker.clauses("hum a tune. hum a tune")
    texts = selector.ranker.open(parts)
    assert len(parts) == 3
    assert texts == ("hum a tune. hum a tune", "hum a tune")


def test_without_vectors_words_alone_decide(glossary: Glossary) -> None:
    selector = made_of(glossary)
    parts = selector.clauses("hum a tune, bring an umbrella")
    assert selector.open(parts) == ()
    decision = selector.decide(parts, {})
    assert stages(decision) == {"weather": "keyword"}
    assert decision.odds.shape == (4,)


def test_released_vectors_are_not_used(selector: EncodingRanker, encoder: TopicEncoder) -> None:
    inner = selector.ranker
    inner.use(None)
    assert inner.open(inner.clauses("sunny or drizzle")) == ()
    assert selector.select("sunny or drizzle") == []
    inner.use(inner.embed(encoder))
    assert selector.select("sunny or drizzle") == ["weather"]


def test_a_clause_without_vectors_keeps_its_lexical_result(selector: EncodingRanker, encoder: TopicEncoder) -> None:
    inner = selector.ranker
    parts = inner.clauses("sunny or drizzle. hum a tune")
    only = selector.vectors(["hum a tune"])
    assert [each is None for each in inner.features(parts, only)] == [True, True, False]
    assert stages(inner.decide(parts, only)) == {"playMusic": "embed"}


def test_the_best_clause_counts(selector: EncodingRanker) -> None:
    message, parts = "sunny or drizzle and hum a tune", ["sunny or drizzle", "hum a tune"]
    whole = selector.decide(message)
    alone = [selector.decide(part) for part in parts]
    assert {one.name for one in whole.chosen} == {"weather", "playMusic"}
    assert np.all(whole.odds >= np.maximum(alone[0].odds, alone[1].odds) - 1e-5)
    best = {one.name: one.probability for decision in alone for one in decision.chosen}
    assert all(one.probability >= best[one.name] - 1e-6 for one in whole.chosen)


def test_the_best_group_comes_first(selector: EncodingRanker) -> None:
    decision = selector.decide("sunny or drizzle and play the song")
    probabilities = [one.probability for one in decision.chosen]
    assert decision.chosen[0].name == "playMusic"
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(0.5 <= probability <= 1 for probability in probabilities)


def test_a_clause_may_show_fewer_tools_than_the_message(glossary: Glossary) -> None:
    three = Policy(gate=0.0, least=-9.0, falling=0.0, most=3.0, growing=0.0, certain=99.0)
    selector = EncodingRanker(made_of(glossary, policy=three), TopicEncoder())
    assert len(selector.select("rain ring tune")) == 3
    polite = "rain ring tune. hello hello hello hello"  # as a whole it asks for nothing
    assert len(selector.select(polite)) == max(2, round(CLAUSE_SHARE * 3)) < 3


def test_a_keyword_of_one_toolkits_tools_selects_it(glossary: Glossary) -> None:
    shared = [{**row, "keywords": [*row["keywords"], "now"]} for row in CATALOGUE[:2]]
    selector = Ranker(entries(shared, {}), (), glossary, FUSION, OPEN)
    own = [selector.clauses(said)[0].lexical[:, LEXICAL.index("own keyword")].tolist() for said in ("forecast", "now")]
    assert own == [[1, 1, 0], [0.5, 0.5, 0.5]]


def test_tools_of_a_group_are_combined(glossary: Glossary) -> None:
    selector = made_of(glossary)
    assert selector.names == ("weather", "alarm", "playMusic")
    odds = np.log(np.array([1, 3, 2, 0.5], np.float32))
    assert np.exp(selector.group_odds(odds)).tolist() == pytest.approx([4, 2, 0.5])


def test_tools_of_one_toolkit_need_not_be_adjacent(glossary: Glossary) -> None:
    apart = [CATALOGUE[0], CATALOGUE[1], {**CATALOGUE[0], "tools": CATALOGUE[0]["tools"][:1]}]
    selector = Ranker(entries(apart, {}), (), glossary, FUSION, OPEN)
    assert selector.names == ("weather", "alarm")
    assert np.exp(selector.group_odds(np.zeros(4, np.float32))).tolist() == pytest.approx([3, 1])


def test_small_talk_examples_count_against_all(glossary: Glossary) -> None:
    polite = Fusion(FUSION.words, weights((*LEXICAL, *DENSE), {"best": 8.0}, {"negatives": 8.0}, 1.0))
    selector = EncodingRanker(made_of(glossary, polite), TopicEncoder())
    assert selector.select("rain") == ["weather"]
    assert selector.select("hello hello hello, rain") == []


@pytest.mark.parametrize(("odds", "names"), [(-50.0, ["weather"]), (0.0, ["weather"]), (50.0, [])])
def test_small_talk_selects_nothing(glossary: Glossary, odds: float, names: list[str]) -> None:
    classifier = SmallTalk(np.zeros(BUCKETS, np.int8), unit=1.0, constant=odds)
    selector = Ranker(
        entries(CATALOGUE, EXAMPLES), (), glossary, FUSION, replace(OPEN, talk=1.0), small_talk=classifier
    )
    parts = selector.clauses("the forecast")
    assert [one.name for one in selector.decide(parts, {}).chosen] == names
    assert [part.small_talk for part in parts] == [odds]


@pytest.mark.parametrize(("encoder", "names"), [("static:1f", []), ("static", []), ("e5:small", ["weather"])])
def test_vectors_of_the_shipped_encoder_reveal_small_talk(glossary: Glossary, encoder: str, names: list[str]) -> None:
    network = Network(np.zeros((len(TOPICS), 1), np.float32), np.zeros(1, np.float32), np.zeros(1, np.float32), 500.0)
    classifier = SmallTalk(np.zeros(BUCKETS, np.int8), unit=1.0, constant=-5.0, network=network)
    ranker = Ranker(entries(CATALOGUE, EXAMPLES), (), glossary, FUSION, replace(OPEN, talk=1.0), small_talk=classifier)
    topics = TopicEncoder()
    ranker.use(ranker.embed(topics), encoder)
    parts = ranker.clauses("sunny or drizzle")
    decision = ranker.decide(parts, dict(zip(ranker.open(parts), topics.encode(ranker.open(parts)), strict=True)))
    assert [each.name for each in decision.chosen] == names


@pytest.mark.parametrize(
    "message",
    [
        *("", " ", "\n\n", "\x00\x01\x1b[31m\x7f", "😶‍🌫️", "?!", "\u200b\u202e\ufeff", "\ud83d", "a"),
        *("forecast " * 2_222, "x" * 20_000, "날씨" * 10_000, "天气" * 10_000, " " * 20_000, "hum it. " * 2_500),
        f"schalte das Licht {'a' * 20_000}",
    ],
    ids=lambda message: f"{message[:8]!r} × {len(message)}",
)
def test_any_message_is_decided(selector: EncodingRanker, message: str) -> None:
    decision = selector.decide(message)
    assert np.isfinite(decision.odds).all()
    assert {*stages(decision)} <= {"weather", "alarm", "playMusic"}


@pytest.mark.parametrize("message", ["\ud83d", "天气\ud83d好", "forecast \udc00", "wetter morgen \ud83d"])
def test_a_lone_surrogate_is_no_error(message: str) -> None:
    assert isinstance(build_selector(CATALOGUE, EXAMPLES).select(message), list)


@pytest.mark.parametrize("message", ["", "\x00\x07", "😶‍🌫️"])
def test_an_empty_message_selects_nothing(selector: EncodingRanker, message: str) -> None:
    assert selector.select(message) == []


def test_an_empty_catalogue_selects_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build_selector([], {}).select("what is the forecast") == []


@pytest.mark.parametrize("message", ["what is the forecast", "", "nobody knows"])
def test_a_catalogue_of_one_tool(message: str) -> None:
    selector = build_selector(CATALOGUE[2:], {})
    assert selector.select(message) in ([], ["playMusic"])


def test_a_catalogue_of_4000_tools() -> None:
    words = ("forecast", "song", "alarm", "lamp", "letter", "recipe", "train", "tax")
    tools = [
        {"name": f"{words[at % 8]}_{at}", "description": f"A {words[at % 8]} for city {at}.", "parameters": {}}
        for at in range(4_000)
    ]
    tools[1234] = {"name": "walk_the_dog", "description": "Walk the dog in the park.", "parameters": {}}
    selector = build_selector(tools, {})
    assert selector.select("please walk the dog in the park")[0] == "walk_the_dog"
    assert len(selector.select("a forecast for my city")) < 400


def test_the_default_model_finds_its_examples(glossary: Glossary) -> None:
    selector = build_selector(CATALOGUE, EXAMPLES)
    expected: Sequence[tuple[str, str]] = [
        ("will it rain tomorrow", "weather"),
        ("get me out of bed at six", "alarm"),
        ("put on some jazz", "playMusic"),
        ("Weck mich um sechs", "alarm"),
    ]
    assert [(said, selector.select(said)[:1]) for said, _ in expected] == [(said, [name]) for said, name in expected]
