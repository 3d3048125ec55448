"""The basis of comparing two texts: normalised words and character n-grams."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routing.text import split_identifier
from routing.tools.selection.words import (
    NGRAM,
    is_unspaced,
    letter_ngrams,
    normal,
    words,
    written,
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("ılık İstanbul ISPARTA", "ilik istanbul isparta"),
        ("ＡＢＣ１２", "abc12"),
        ("ﬁle №5", "file no5"),
        ("Ångström", "angstrom"),
        ("Łódź, Çağrı, København", "lodz, cagri, kobenhavn"),
        ("e\u0301te\u0301", "ete"),
        ("œuvre Æther", "oeuvre aether"),
        ("don’t", "don't"),
        ("Йод ёлка", "йод ёлка"),
        ("날씨", "날씨"),
        ("ガス", "ガス"),
        ("ｶﾞｽ", "ガス"),
        ("", ""),
    ],
)
def test_one_form_of_each_word(text: str, form: str) -> None:
    assert normal(text) == form


@given(st.text())
@example("\u0301a")
@example("ﷺ")
def test_stemming_is_idempotent(text: str) -> None:
    assert normal(normal(text)) == normal(text)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("getBoxOffice", "get Box Office"),
        ("get_box_office", "get box office"),
        ("parseHTTPResponse", "parse HTTP Response"),
        ("box-office.get:all/now", "box office get all now"),
        ("top10Songs", "top10 Songs"),
        ("__init__", "init"),
        ("weather", "weather"),
        ("", ""),
    ],
)
def test_identifiers_are_split_into_words(name: str, said: str) -> None:
    assert split_identifier(name) == said


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("Playing the songs", ["play", "the", "song"]),
        ("don’t", ["don"]),
        ("the user's lists", ["the", "user", "list"]),
        ("snake_case 3.5", ["snake", "case", "3", "5"]),
        ("погоды", ["погоды"]),
        ("天气", ["天气"]),
        ("天气预报", ["天气", "气预", "预报"]),
        ("天", ["天"]),
        ("อากาศ", ["อา", "าก", "กา", "าศ"]),
        ("アラーム", ["アラ", "ラー", "ーム"]),
        ("날씨가 좋다", ["날씨가", "날씨", "씨가", "좋다", "좋다"]),
        ("곡", ["곡"]),
        ("GitHub에서", ["github", "에서", "에서"]),
        ("iPhone15を探す", ["iphone15", "を探", "探す"]),
        ("3시", ["3", "시"]),
        ("", []),
        (" \t\n\x00\x07", []),
        ("😶‍🌫️ 🎉!", []),
        ("_ __ ' ’", []),
    ],
)
def test_normalised_words(text: str, stems: list[str]) -> None:
    assert words(text) == stems


def test_inflected_forms_are_one_word() -> None:
    assert words("remind") == words("reminders")[:1] or words("remind") == words("reminding")
    assert words("alarms") == words("alarm") == words("ALARM")


def test_unstemmed_words_keep_their_endings() -> None:
    assert written("Playing the user's Lists") == ["playing", "the", "user's", "lists"]
    assert written("明日の天気 ok") == ["明日の天気", "ok"]
    assert written("コンビニ・弁当 user's한국") == ["コンビニ", "弁当", "user's", "한국"]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("rain", ["^rai", "rain", "ain$"]),
        ("to", ["^to$"]),
        ("a", []),
        ("дождь", ["^дож", "дожд", "ождь", "ждь$"]),
        ("天气好", ["天", "气", "好", "天气", "气好", "天气好"]),
        ("날씨", ["날", "씨", "날씨"]),
        ("", []),
        ("🎉", []),
    ],
)
def test_ngrams_include_word_boundaries(text: str, groups: list[str]) -> None:
    assert letter_ngrams(text) == groups


def test_an_inner_word_shares_no_boundary_ngrams() -> None:
    assert "^rai" not in letter_ngrams("train")
    assert "car$" not in letter_ngrams("card")
    assert "^car" in letter_ngrams("card")


@given(st.text(alphabet="abcdefgh ", max_size=40))
def test_every_ngram_has_the_same_length_within_a_word(text: str) -> None:
    marked = [f"^{word}$" for word in written(text)]
    groups = letter_ngrams(text)
    assert all(len(group) == NGRAM and any(group in word for word in marked) for group in groups)
    assert len(groups) == sum(max(0, len(word) - NGRAM + 1) for word in marked)


@pytest.mark.parametrize("script", ["天", "あ", "ア", "ก", "ក", "ລ", "မ"])
def test_scripts_without_spaces(script: str) -> None:
    assert is_unspaced(script)
    assert is_unspaced(f"ok{script}")


@pytest.mark.parametrize("script", ["a", "날", "ж", "ع", "é", "", "1"])
def test_scripts_with_spaces(script: str) -> None:
    assert not is_unspaced(script)
