"""The compiled glossary is up to date, and its source files are well-formed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import Stemmer

from benchmarks.training.build_glossary import COMMON, FOLDER, compiled
from routing.tools.selection.glossary import (
    COMPOUNDING,
    ENGLISH,
    KOREAN,
    STEMMERS,
    TABLE,
    UNSPACED,
    Glossary,
)

FILES = sorted(FOLDER.glob("*.tsv"))
CODES = [path.stem for path in FILES]
REMAKE = "a glossary was changed: run python -m benchmarks.training.build_glossary"


def lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


def test_the_compiled_glossary_is_up_to_date() -> None:
    made = compiled()
    with np.load(TABLE) as stored:
        assert {*stored.files} == {*made}
        assert [name for name in made if not np.array_equal(stored[name], made[name])] == [], REMAKE
        assert {name: stored[name].dtype for name in made} == {name: made[name].dtype for name in made}


@pytest.mark.parametrize("path", FILES, ids=CODES)
def test_a_line_maps_forms_to_english(path: Path) -> None:
    rows = lines(path)
    assert rows
    assert [row for row in rows if len(row) != 2 or not all(map(str.strip, row))] == []


def test_every_specially_handled_language_has_a_glossary() -> None:
    assert {*STEMMERS, *UNSPACED, *COMPOUNDING, KOREAN} <= {*CODES}
    assert {*STEMMERS.values()} <= {*Stemmer.algorithms()}
    assert ENGLISH not in CODES


def test_a_message_of_common_english_words_is_english(tmp_path: Path) -> None:
    (tmp_path / "fr.tsv").write_text("look\tregards\n", "utf-8")
    assert Glossary(compiled(tmp_path)).gloss("Regards!") == "look"
    (tmp_path / COMMON).write_text("regards\nkind\n", "utf-8")
    made = Glossary(compiled(tmp_path))
    assert made.gloss("Kind regards!") == "Kind regards!"
    assert made.gloss("les regards") == "les look", "one word of another language is enough"


def test_numbers_fit_their_columns() -> None:
    made = compiled()
    assert len(CODES) < 64, "a bit per language, and one for English"
    assert len(str(made["english"]).split("\n")) < 2**16
    for name in ("keys", "words"):
        assert (made[name][1:] > made[name][:-1]).all(), "sorted for binary search"
    assert len(made["keys"]) == len(made["values"])
    assert len(made["words"]) == len(made["speakers"])


def glossary(folder: Path, lines: str, code: str = "de") -> Glossary:
    (folder / f"{code}.tsv").write_text(lines, "utf-8")
    return Glossary(compiled(folder))


def test_the_most_frequent_form_wins_whichever_line_is_first(tmp_path: Path) -> None:
    made = glossary(tmp_path, "put\tleg, stell\nset\tstell\nthe\tdas\n")
    assert made.gloss("stell das") == "set the"


def test_a_function_word_has_no_other_meaning(tmp_path: Path) -> None:
    made = glossary(tmp_path, "which\tdas\nthe\tdas\nlamp\tLampe\n")
    assert made.gloss("das Lampe") == "the lamp"


def test_text_in_brackets_is_ignored(tmp_path: Path) -> None:
    made = glossary(tmp_path, "lamp (light)\tLampe (die)\n")
    assert made.gloss("Lampe") == "lamp"


def test_forms_match_with_any_separator(tmp_path: Path) -> None:
    made = glossary(tmp_path, "lamp\tLampe; Leuchte、Funzel，Birne/Strahler, Licht\n")
    words = ["Lampe", "Leuchte", "Funzel", "Birne", "Strahler", "Licht"]
    assert [made.gloss(word) for word in words] == ["lamp"] * 6


def test_long_words_match_by_prefix(tmp_path: Path) -> None:
    made = glossary(tmp_path, "appliance\tүйгереш\n", "kk")
    assert made.gloss("үйгереш үйгерештер") == "appliance appliance"
    assert made.gloss("үйге үйгереш") == "appliance үйге"
