"""The comparison of encoders, and its queries in further languages."""

from __future__ import annotations

from collections import Counter

from benchmarks.encoders import FRESH, OTHER_LANGUAGES, run, run_fresh
from benchmarks.toolkits import QUERIES, queries
from handlers.tools.authoring.manifests import FOLDER, our_toolkit


def test_queries_are_in_ten_other_languages() -> None:
    others = queries(OTHER_LANGUAGES)
    spoken = Counter(each.language for each in others)
    assert len(spoken) == 10
    assert not spoken.keys() & {each.language for each in queries(QUERIES)}
    tools = {card.name for path in FOLDER.glob("*.json") for card in our_toolkit(path.stem).tools}
    assert all(each.tools <= tools for each in others)
    assert all(sum(not each.tools for each in others if each.language == language) == 2 for language in spoken)


def test_the_fresh_queries_are_enough_in_each_language() -> None:
    fresh = queries(FRESH)
    tools = {card.name for path in FOLDER.glob("*.json") for card in our_toolkit(path.stem).tools}
    assert all(each.tools <= tools for each in fresh)
    assert set(Counter(each.language for each in fresh).values()) == {64}
    assert not {each.text for each in fresh} & {each.text for each in queries(OTHER_LANGUAGES)}
    section = run_fresh(("off",), quick=True)
    assert [line[0] for line in section.lines] == ["language", "all", *dict.fromkeys(each.language for each in fresh)]


def test_an_encoder_finds_more_than_words() -> None:
    section = run(("off", "static"), quick=True)
    headings, words, static = section.lines
    at = headings.index("recall")
    assert words[:5] == ("off", "", "", "", "")
    assert float(static[headings.index("ms, p50")]) > 0
    assert float(words[at]) < float(static[at])
