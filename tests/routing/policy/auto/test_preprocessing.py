"""Messages are normalised and limited in length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.policy.auto.preprocessing import (
    FIRST_WORDS,
    HEAD,
    LAST_WORDS,
    TAIL,
    fold,
    preprocess,
    split,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'intégrale, s'il vous plaît", ("l", "integrale", "s", "il", "vous", "plait")),
        ("Straße Łódź ılık İYİ", ("strasse", "lodz", "ilik", "iyi")),
        ("C++ und C# und F#", ("c++", "und", "c#", "und", "f#")),
        ("用Python写一个爬虫", ("python",)),
        ("GitHub에서 찾아", ("github", "에서", "찾아")),
        ("सिद्ध कीजिए।", ("सिद्ध", "कीजिए")),
        ("أَثْبِتْ", ("اثبت",)),
        ("Йод и ёлка", ("иод", "и", "елка")),
        ("snake_case", ("snake", "case")),
    ],
)
def test_words(text: str, words: tuple[str, ...]) -> None:
    assert split(fold(text)) == words


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("What does 'prove' mean?", "what does   mean?"),
        ("Что значит «доказать»?", "что значит  ?"),
        ("「証明」は英語で", " は英語で"),
        ("“证明”怎么说", " 怎么说"),
        ("don't you think it's hard", "don't you think it's hard"),
        ('"all of it"', '"all of it"'),
    ],
)
def test_quoted_text_is_ignored(text: str, left: str) -> None:
    assert preprocess(text).text == left


def test_units_are_roughly_words() -> None:
    assert preprocess("one two three").units == 3
    assert 4 <= preprocess("请设计一个消息队列").units <= 7
    assert 2 <= preprocess("เขียนโค้ดอ่านไฟล์").units <= 6
    assert preprocess("word " * 4_000).units > 1_000


def test_questions_numbers_and_situations() -> None:
    message = preprocess("I have 2 dogs and 3.5 cats. Is it many? Ist es viel？")
    assert (message.questions, message.numbers, message.situation) == (2, 2, True)
    assert not preprocess("Is it many, or what").situation
    assert not preprocess("Is it many?").situation


def test_requests_about_a_given_text() -> None:
    assert preprocess("Translate: prove it").head().text == "translate"
    assert preprocess("Translate it").head().text == "translate it"


@given(st.text(st.characters(), max_size=60).map(lambda text: text * 200))
def test_only_a_bounded_part_is_read(text: str) -> None:
    message = preprocess(text)
    assert len(message.raw) <= HEAD + TAIL + 1
    assert len(message.text) <= 6 * (HEAD + TAIL)
    assert len(message.words) <= FIRST_WORDS + LAST_WORDS
