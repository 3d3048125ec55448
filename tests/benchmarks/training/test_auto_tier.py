"""The training data of `/tier auto`, and that training works and is deterministic."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks.auto_tier import LATER_SETS, UNUSED, read
from benchmarks.training.auto_tier import train, training_set, write
from benchmarks.training.auto_tier_rows import (
    FRAMED,
    KINDS,
    SAYINGS,
    WRITTEN,
    generate,
    message_rows,
    read_messages,
    read_sayings,
    training_rows,
    wordings,
)
from routing.policy.auto.chooser import Chooser
from routing.policy.auto.classifier import FILE, LinearClassifier
from routing.policy.auto.phrases import Phrases
from routing.types.tiers import TIERS

ROWS = list(generate())


def test_the_training_data_is_large_and_varied() -> None:
    assert len(ROWS) >= 3_000
    assert len({row.language for row in ROWS}) >= 12
    assert {tier for row in ROWS for tier in row.accepted} == {*TIERS}
    assert max(Counter((row.language, row.text) for row in ROWS).values()) <= 2


def test_the_messages_are_many_and_long_ones_are_of_every_tier() -> None:
    rows = list(message_rows())
    written = {row.text for row in rows if row.kind == WRITTEN}
    assert len(written) >= 5_000
    assert len({row.language for row in rows}) >= 30
    long = Counter(row.accepted for row in rows if row.kind == FRAMED and len(row.text) >= 100)
    assert min(long[(tier,)] for tier in TIERS) >= 300


def test_no_benchmark_row_is_in_the_training_data() -> None:
    measured = [row for row in read() if row.half == UNUSED]
    measured += [row for path in LATER_SETS for row in read(path)]
    learnt = list(training_rows())
    assert not {row.text.casefold() for row in measured} & {row.text.casefold() for row in learnt}
    taken = {wording for row in measured for wording in wordings(row.text)}
    assert not [row.text for row in learnt if row.kind in KINDS and wordings(row.text) & taken]


def test_overlap_is_five_words_or_nine_characters() -> None:
    assert wordings("One two, THREE four five six") == {"one two three four five", "two three four five six"}
    assert wordings("请帮我写一个爬虫程") == {"请帮我写一个爬虫程"}
    assert not wordings("one two three four")


def test_the_same_seed_makes_the_same_rows() -> None:
    assert list(islice(generate(3), 50)) == list(islice(generate(3), 50)) != list(islice(generate(4), 50))


@pytest.mark.parametrize("line", ["> huge\nhello", "> smart\nmy {nobody} is here"])
def test_malformed_training_lines_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "xx.txt").write_text(line, "utf-8")
    with pytest.raises(ValueError, match=r"xx\.txt"):
        read_sayings(tmp_path / "xx.txt")


def test_an_unknown_part_of_a_message_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.tsv").write_text("en\thuge\thello\n", "utf-8")
    with pytest.raises(ValueError, match=r"odd\.tsv"):
        read_messages(tmp_path / "odd.tsv")


def test_every_word_list_is_used() -> None:
    for file in SAYINGS.glob("*.txt"):
        lists, sentences = read_sayings(file)
        text = " ".join(each for several in sentences.values() for each in several)
        assert not [name for name in lists if f"{{{name}}}" not in text], file.name


def test_training_is_deterministic(tmp_path: Path) -> None:
    phrases, rows = Phrases([]), [row for row in ROWS if row.language == "de"]
    given = training_set(rows, phrases)
    (words, weights), (again, _) = train(given, 1, epochs=12), train(given, 1, epochs=12)
    assert np.array_equal(words, again)
    write(words, weights, tmp_path / "few.json")
    chooser = Chooser(phrases, LinearClassifier.load(tmp_path / "few.json"))
    assert sum(chooser.choose(row.text).tier in row.accepted for row in rows) >= 0.9 * len(rows)


def test_the_weights_are_small() -> None:
    assert FILE.stat().st_size < 100_000
