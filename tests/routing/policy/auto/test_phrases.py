"""Phrases in a text, and the phrase table."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from routing.policy.auto.phrases import IDEAS, Idea, Phrases, rows
from routing.policy.auto.preprocessing import fold, is_unspaced, preprocess, split


def matches(phrase: str, text: str) -> bool:
    return bool(Phrases([("intent", phrase)]).find(preprocess(text)).get("intent"))


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("think hard", "Please THINK hard!", True),
        ("think hard", "I think hardly anybody came", False),
        ("think hard", "hard to think", False),
        ("денк*", "денки", True),
        ("beweis*", "Beweise das", True),
        ("beweis*", "Gegenbeweis", False),
        ("denk* … nach", "denk bitte ganz gründlich nach", True),
        ("denk* … nach", "denk nach", True),
        ("denk* … nach", "denk an alle meine vielen Kinder nach der Schule", False),
        ("réfléchis bien", "reflechis bien", True),
        ("برهان", "والبرهان", True),
        ("仔细想", "请你仔细想想", True),
        ("仔细想", "仔细地想", False),
        ("คิดให้ดี", "ช่วยคิดให้ดีก่อน", True),
        ("깊이 생각*", "깊이 생각해줘", True),
        ("c++", "in C++?", True),
    ],
)
def test_a_phrase_in_a_text(phrase: str, text: str, found: bool) -> None:
    assert matches(phrase, text) is found


def test_phrase_positions() -> None:
    (hit,) = Phrases([("intent", "think hard")]).find(preprocess("now think hard about it"))["intent"]
    assert (hit.start, hit.end, hit.unspaced) == (1, 3, False)
    (hit,) = Phrases([("intent", "仔细想")]).find(preprocess("请仔细想"))["intent"]
    assert (hit.start, hit.end, hit.unspaced) == (1, 4, True)


def test_an_unknown_category_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.tsv").write_text("intent\ten\tthink hard\nhunger\ten\tpizza\n", "utf-8")
    with pytest.raises(ValueError, match=r"odd\.tsv, line 2: there is no idea 'hunger'"):
        list(rows(tmp_path / "odd.tsv"))


def test_each_phrase_of_the_table_can_be_found() -> None:
    for idea, _, phrase in rows():
        spoken = phrase.replace("*", "").replace(" … ", " ")
        assert phrase == phrase.strip()
        assert spoken.strip(), (idea, phrase)
        assert is_unspaced(phrase) or all(split(fold(part)) for part in spoken.split()), (idea, phrase)
        assert Phrases([(idea, phrase)]).find(preprocess(spoken)).get(idea), (idea, phrase)


def test_the_table_has_each_category_once_per_language() -> None:
    languages: defaultdict[Idea, list[str]] = defaultdict(list)
    for line in (Path(__file__).parents[4] / "routing/policy/auto/phrases.tsv").read_text("utf-8").splitlines():
        idea, language, phrases = line.split("\t")
        languages[next(each for each in IDEAS if each == idea)].append(language)
        assert len(set(phrases.split(" | "))) == len(phrases.split(" | ")), line[:60]
    assert set(languages) == set(IDEAS)
    assert all(len(set(those)) == len(those) for those in languages.values())
    assert len(languages["intent"]) >= 20
