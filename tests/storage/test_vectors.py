"""The vector store, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from routing.errors import StorageFault
from routing.ports import VectorStore
from storage.database import Database
from storage.vectors import BATCH_SIZE, SqlVectors

OURS, OTHER = "static:1f", "litellm:openai/e"


def rows(count: int) -> dict[str, bytes]:
    """Vectors of two numbers, by hash."""
    return {f"{number:064x}": number.to_bytes(8, "little") for number in range(count)}


@pytest.fixture
def store(database: Database) -> VectorStore:
    return SqlVectors(database)


async def test_vectors_are_stored_byte_for_byte(store: VectorStore, database: Database) -> None:
    kept = {"a": bytes(range(256)), "b": b"", "c": b"\0" * 1024}
    await store.put(OURS, kept)
    for fresh in (store, SqlVectors(database)):
        assert await fresh.get(OURS, ["c", "unknown", "a", "b", "a"]) == kept
    assert await store.get(OURS, ["b"]) == {"b": b""}
    assert await store.get(OURS, []) == {}
    assert await store.get(OURS, ["unknown"]) == {}


async def test_vectors_are_separate_per_encoder(store: VectorStore) -> None:
    await store.put(OURS, {"a": b"1111", "b": b"2222"})
    await store.put(OTHER, {"a": b"3333"})
    assert await store.get(OURS, ["a", "b"]) == {"a": b"1111", "b": b"2222"}
    assert await store.get(OTHER, ["a", "b"]) == {"a": b"3333"}


async def test_the_newest_vector_of_a_hash_wins(store: VectorStore) -> None:
    await store.put(OURS, {"a": b"old.", "b": b"2222"})
    await store.put(OURS, {"a": b"new.", "c": b"3333"})
    assert await store.get(OURS, ["a", "b", "c"]) == {"a": b"new.", "b": b"2222", "c": b"3333"}


async def test_many_vectors_are_stored_and_read_in_batches(store: VectorStore) -> None:
    many = rows(2 * BATCH_SIZE + 1)
    await store.put(OURS, many)
    assert await store.get(OURS, list(many)) == many
    await store.put(OURS, {})
    assert await store.get(OURS, [*many, "unknown"]) == many


async def test_a_failed_put_stores_nothing(store: VectorStore) -> None:
    many: dict[str, Any] = {**rows(BATCH_SIZE + 1)}
    many["f" * 64] = None
    with pytest.raises(Exception, match=r"(?i)null"):
        await store.put(OURS, many)
    assert await store.get(OURS, list(many)) == {}


async def test_concurrent_puts_of_the_same_vector_succeed(store: VectorStore) -> None:
    many = rows(BATCH_SIZE)
    turned = dict(reversed(many.items()))
    await asyncio.gather(*(store.put(OURS, each) for each in (many, turned, many, turned)))
    assert await store.get(OURS, list(many)) == many


async def test_vectors_outside_the_catalogue_are_deleted(store: VectorStore) -> None:
    await store.put(OURS, {"a": b"1", "b": b"2", "c": b"3"})
    await store.put(OTHER, {"a": b"4", "d": b"5"})
    assert await store.keep(OURS, {"a", "c", "unknown"}) == 3
    assert await store.get(OURS, ["a", "b", "c", "unknown"]) == {"a": b"1", "c": b"3"}
    assert await store.get(OTHER, ["a", "d"]) == {}
    assert await store.keep(OURS, ["c", "a"]) == 0
    assert await store.keep(OURS, ()) == 2
    assert await store.get(OURS, ["a", "c"]) == {}


async def test_many_vectors_are_deleted_in_batches(store: VectorStore) -> None:
    many = rows(2 * BATCH_SIZE + 3)
    await store.put(OURS, many)
    left = dict([*many.items()][:1])
    assert await store.keep(OURS, left) == 2 * BATCH_SIZE + 2
    assert await store.get(OURS, list(many)) == left


async def gone(*_given: object) -> Any:
    raise StorageFault("The database can't be used at the moment (gone).")


async def test_an_unavailable_database_raises(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for operation in ("read", "write"):
        monkeypatch.setattr(database, operation, gone)
    store = SqlVectors(database)
    for asked in (store.get(OURS, ["a"]), store.put(OURS, {"a": b"1"}), store.keep(OURS, ["a"])):
        with pytest.raises(StorageFault):
            await asked
