"""What every bot reads or compiles, once per process: the glossary, the model cards, the encoder, tool indexes and SQL
statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import URL, Engine, create_engine

from routing.catalog.catalog import Catalog
from routing.tools.selection import catalogue, features
from routing.tools.selection.encoder import FOLDER, StaticEncoder
from routing.tools.selection.entries import Entry
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index_cache import Arrays, IndexCache, fingerprint

GLOSSES = 8_192


def share_texts(patch: pytest.MonkeyPatch) -> None:
    """Share the glossary and the texts it has translated (50 ms of CPU per bot), the model cards (15 ms) and the
    shipped encoder (50 ms)."""
    patch.setattr(Glossary, "load", cache(_glossary))
    patch.setattr(Catalog, "load", _catalog)
    patch.setattr(StaticEncoder, "load", _encoder)


def share_indexes(patch: pytest.MonkeyPatch) -> None:
    """Share each tool index for bots that start without one (0.2 s of CPU), and the stems of the keywords (10 ms)."""
    patch.setattr(catalogue, "fingerprint", _hash)
    patch.setattr(features, "_keywords", _keywords)
    patch.setattr(IndexCache, "load", _index)
    patch.setattr(IndexCache, "save", _save)


def share_statements(patch: pytest.MonkeyPatch) -> None:
    """Share the compiled SQL statements (30 ms of CPU per bot). SQLAlchemy keeps them by dialect."""
    patch.setattr("storage.database.sqlite.create_engine", _engine)


_load_catalog = Catalog.load
_load_encoder = StaticEncoder.load
_shipped_encoder = cache(_load_encoder)
_load_glossary = Glossary.load
_load_index = IndexCache.load
_save_index = IndexCache.save
_indexes: dict[str, Arrays] = {}


def _glossary() -> Glossary:
    made: Any = _load_glossary()
    made.gloss = lru_cache(GLOSSES)(made.gloss)
    return cast(Glossary, made)


def _catalog(path: Path) -> Catalog:
    try:
        return _parsed(path.read_text("utf-8-sig"), path.name)
    except (OSError, UnicodeDecodeError):
        return _load_catalog(path)


@cache
def _parsed(text: str, origin: str) -> Catalog:
    return Catalog.parse(text, origin)


def _encoder(folder: Path = FOLDER) -> StaticEncoder:
    return _shipped_encoder() if folder == FOLDER else _load_encoder(folder)


_first: list[Engine] = []
_statements: dict[Any, Any] = {}


def _engine(url: URL, **options: Any) -> Engine:
    made = create_engine(url, **options)
    _first[:] = _first or [made]
    made.dialect = _first[0].dialect
    made.update_execution_options(compiled_cache=_statements)
    return made


_fingerprint = lru_cache(64)(fingerprint)
_keywords = lru_cache(64)(features._keywords)


def _hash(entries: Iterable[Entry], negatives: Sequence[str]) -> str:
    return _fingerprint(tuple(entries), tuple(negatives))


def _index(path: Path, source: str) -> IndexCache:
    if source in _indexes and not path.exists():
        return IndexCache(dict(_indexes[source]))
    return _load_index(path, source)


def _save(index: IndexCache, path: Path, source: str) -> None:
    _save_index(index, path, source)
    _indexes[source] = index._parts
