"""The cached index equals a new one, and is rebuilt if that is not certain."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from routing.tools.selection.entries import NO_TOOL, Entry, Passages, entries
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index_cache import IndexCache, fingerprint
from routing.tools.selection.lexical import Postings
from routing.types.vectors import Floats
from tests.routing.tools.selection.catalogue import CATALOGUE, EXAMPLES

WORDS = [["rain", "and", "snow"], [], ["rain", "rain"]]
PASSAGES = [("rain", 0), ("天气 \ud800 \0", 0), ("", 2)]


def filled(index: IndexCache) -> IndexCache:
    index.passages("described", lambda: PASSAGES)
    index.passages("nothing", lambda: [])
    index.postings("words", lambda: WORDS)
    index.postings("none", lambda: [])
    index.vectors("static described", lambda: np.eye(3, dtype=np.float32))
    return index


def unasked() -> Iterator[tuple[str, int]]:
    raise AssertionError("it was kept, and need not be made")


def no_words() -> Iterator[Sequence[str]]:
    raise AssertionError("it was kept, and need not be made")


def no_vectors() -> Floats:
    raise AssertionError("it was kept, and need not be made")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "catalogue.index"


def test_cached_vectors_are_reused(path: Path) -> None:
    filled(IndexCache()).save(path, "these")
    index = IndexCache.load(path, "these")
    assert index.passages("described", unasked) == (tuple(text for text, _ in PASSAGES), [0, 0, 2])
    assert index.passages("nothing", unasked) == ((), [])
    kept, made = index.postings("words", no_words), Postings.of(WORDS)
    for query in (["rain"], ["snow", "rain", "unheard"], []):
        found, expected = kept.match([query]), made.match([query])
        for measure in ("bm25", "coverage", "cosine"):
            assert np.array_equal(getattr(found, measure), getattr(expected, measure))
    assert index.postings("none", no_words).match([["rain"]]).cosine.tolist() == [[]]
    assert np.array_equal(index.vectors("static described", no_vectors), np.eye(3))
    assert not index.grew


def test_missing_vectors_are_computed_and_cached(path: Path) -> None:
    assert not IndexCache().grew
    assert not IndexCache.load(path, "these").grew
    IndexCache().save(path, "these")
    texts, postings, vectors = (IndexCache.load(path, "these") for _ in range(3))
    texts.passages("described", lambda: PASSAGES)
    postings.postings("words", lambda: WORDS)
    vectors.vectors("static described", lambda: np.eye(3, dtype=np.float32))
    assert texts.grew
    assert postings.grew
    assert vectors.grew


def test_new_vectors_are_returned_unchanged() -> None:
    assert filled(IndexCache()).passages("described", unasked) == (tuple(text for text, _ in PASSAGES), [0, 0, 2])
    assert IndexCache().passages("described", lambda: iter(PASSAGES)) == (
        tuple(text for text, _ in PASSAGES),
        [0, 0, 2],
    )


def test_a_catalogue_is_tokenised_once(path: Path) -> None:
    given, negatives, glossary = entries(CATALOGUE, EXAMPLES), EXAMPLES[NO_TOOL], Glossary.load()
    index = IndexCache()
    made = Passages.of(given, negatives, glossary, index)
    index.save(path, "these")
    again = IndexCache.load(path, "these")
    kept = Passages.of(given, negatives, glossary, again)
    assert not again.grew
    for name in ("described", "examples", "negatives"):
        assert getattr(kept, name) == getattr(made, name) == getattr(Passages.of(given, negatives, glossary), name)
    for by in ("described_by", "examples_by"):
        assert getattr(kept, by).passages.tolist() == getattr(made, by).passages.tolist()


def test_an_index_of_other_texts_is_not_used(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(IndexCache()).save(path, "these")
    with caplog.at_level(logging.INFO):
        assert IndexCache.load(path, "those").passages("described", lambda: [("new", 1)]) == (("new",), [1])
    assert "is out of date" in caplog.text


def test_a_missing_cache_is_not_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert IndexCache.load(path, "these").passages("described", lambda: PASSAGES)[1] == [0, 0, 2]
    assert caplog.text == ""


def test_a_truncated_file_is_rebuilt(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(IndexCache()).save(path, "these")
    data = path.read_bytes()
    for length in (*range(0, len(data), 97), len(data) - 1):
        caplog.clear()
        path.write_bytes(data[:length])
        assert IndexCache.load(path, "these").passages("described", lambda: []) == ((), [])
        assert "building it again" in caplog.text, length


def test_a_changed_byte_is_detected(path: Path) -> None:
    filled(IndexCache()).save(path, "these")
    data = path.read_bytes()
    whole = IndexCache.load(path, "these")
    expected = [whole.passages("described", unasked), whole.postings("words", no_words).weighted.tolist()]
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :])
        index = IndexCache.load(path, "these")
        found = [
            index.passages("described", lambda: PASSAGES),
            index.postings("words", lambda: WORDS).weighted.tolist(),
        ]
        assert found == expected, at
        index.vectors("static described", lambda: np.eye(3, dtype=np.float32))


@pytest.mark.parametrize("content", [b"", b"\x00" * 64, b"\xff" * 64, b"{}", b"SQLite format 3\x00" * 9])
def test_a_file_of_another_format_is_not_read(path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert IndexCache.load(path, "these").passages("described", lambda: []) == ((), [])
    assert "can't be read" in caplog.text


def test_other_programs_tensors_are_not_used(path: Path) -> None:
    path.parent.mkdir()
    save_file({"described.texts": np.zeros(3, np.uint8)}, path)
    assert IndexCache.load(path, "these").passages("described", lambda: []) == ((), [])
    save_file({"described.texts": np.zeros(3, np.uint8)}, path, {"made of": "these"})
    assert IndexCache.load(path, "these").passages("described", lambda: []) == ((), [])


def test_a_folder_at_the_cache_path_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.mkdir(parents=True)
    index = IndexCache.load(path, "these")
    assert index.passages("described", lambda: PASSAGES)[1] == [0, 0, 2]
    index.save(path, "these")
    assert "can't be saved" in caplog.text
    assert path.is_dir()


def test_no_temporary_files_are_left(path: Path) -> None:
    for name in ("these", "those"):
        filled(IndexCache()).save(path, name)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_every_input_changes_the_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"1")
    (entry,) = entries([CATALOGUE[2]], {})
    same = Entry("a", "b", ("d", "e"), ("f",), "g", "h", ("i",))
    others = [replace(same, name="x"), replace(same, group="x"), entry]
    others += [replace(same, parameters="x"), replace(same, category="x"), replace(same, texts=("x",))]
    others += [replace(same, keywords=("x",)), replace(same, examples=("x",)), replace(same, texts=("d, e",))]
    others.append(replace(same, texts=("d", "e", "f"), keywords=()))
    found = [fingerprint([each], ["n"]) for each in (same, *others)]
    found += [
        fingerprint([same, same], ["n"]),
        fingerprint([], ["n"]),
        fingerprint([same], []),
        fingerprint([same], ["n", "n"]),
    ]
    found.append(fingerprint([same], ["n"], [tmp_path / "weights"]))
    (tmp_path / "weights").write_bytes(b"2")
    found.append(fingerprint([same], ["n"], [tmp_path / "weights"]))
    assert len(set(found)) == len(found)
    assert fingerprint([replace(same)], ["n"]) == found[0]
    assert fingerprint([replace(same, name="\ud800")], ["\ud800"]) not in found
