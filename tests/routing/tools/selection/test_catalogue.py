"""The toolkits in the selection, and the cache file for the next start."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from routing.tools.selection.catalogue import Catalogue
from routing.tools.selection.lexical import Postings
from tests.routing.tools.fakes import ALARM, MUSIC, WEATHER, FakeEmbedder, FakeVectors

KITS = (WEATHER, ALARM, MUSIC)


def found(catalogue: Catalogue, message: str) -> list[str]:
    return [each.name for each in catalogue.ranker.decide(catalogue.ranker.clauses(message), {}).chosen]


def test_the_index_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "cache" / "tools.index"
    assert found(Catalogue(KITS, kept), "what is the weather like?") == ["weather"]
    written, made = kept.read_bytes(), Postings.of
    monkeypatch.setattr(Postings, "of", lambda *_: pytest.fail("it was made again"))
    assert found(Catalogue(KITS, kept), "what is the weather like?") == ["weather"]
    monkeypatch.setattr(Postings, "of", made)
    assert kept.read_bytes() == written
    Catalogue(KITS[:2], kept)
    assert kept.read_bytes() != written, "other toolkits have another index"


def test_a_broken_index_is_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = tmp_path / "tools.index"
    Catalogue(KITS, kept)
    kept.write_bytes(kept.read_bytes()[:-100])
    with caplog.at_level(logging.WARNING):
        assert found(Catalogue(KITS, kept), "what is the weather like?") == ["weather"]
        assert "building it again" in caplog.text
        caplog.clear()
        Catalogue(KITS, kept)
    assert caplog.text == "", "the file is whole again"


def test_an_unwritable_folder_only_disables_the_cache(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "cache").write_text("a file")
    with caplog.at_level(logging.WARNING):
        assert found(Catalogue(KITS, tmp_path / "cache" / "tools.index"), "what is the weather like?") == ["weather"]
    assert "can't be saved" in caplog.text or "can't be read" in caplog.text


async def test_a_nearly_full_disk_gets_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, embedder = FakeVectors(), FakeEmbedder()
    monkeypatch.setattr("routing.tools.selection.catalogue.MIN_FREE_BYTES", 10**18)
    kept = tmp_path / "cache" / "tools.index"
    small = Catalogue(KITS, kept)
    await small.embed(embedder, store)
    assert not kept.parent.exists()
    assert store.rows == {}
    monkeypatch.setattr("routing.tools.selection.catalogue.MIN_FREE_BYTES", 0)
    await Catalogue(KITS, kept).embed(embedder, store)
    assert kept.exists()
    assert store.rows
