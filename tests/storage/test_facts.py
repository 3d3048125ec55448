"""Facts about people, in the databases and in the tests' own store."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import insert

from routing.errors import Refused
from routing.ports import FactStore
from routing.types.memory import MAX_FACTS, Fact, fact_text
from routing.types.messages import UserKey
from routing.types.people import Profile
from storage import facts as module
from storage.database import Database
from storage.facts import SqlFacts
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.schema import facts
from storage.stores import Stores, open_stores
from tests.fakes import FakeFacts, ManualClock
from tests.storage.fakes import Counting, Late
from tests.storage.samples import ANN, BEN

TEA = Fact(0, "Likes tea", 0.0, "model", 7, "t1", ("fetch_page", "picture"))


@pytest.fixture(params=["database", "memory"])
async def store(request: pytest.FixtureRequest, stores: Stores, clock: ManualClock) -> FactStore:
    """A store that knows the people 1 and 2."""
    for user in (ANN, BEN):
        await stores.people.admit(user, "", "user", "t")
    return stores.facts if request.param == "database" else FakeFacts(clock)


async def test_facts_are_kept_per_person_with_their_source(store: FactStore, clock: ManualClock) -> None:
    first = await store.add(1, TEA)
    assert first == replace(TEA, id=first.id, at=clock.now)
    other = await store.add(1, Fact(0, "Lives in Bonn", 0.0, "person", pinned=True))
    assert await store.of(1) == (first, other)
    assert await store.of(1) is await store.of(1), "the same tuple until it changes"
    assert await store.of(2) == ()


async def test_the_same_fact_is_refreshed(store: FactStore, clock: ManualClock) -> None:
    first = await store.add(1, replace(TEA, pinned=True))
    clock.now += 60
    again = await store.add(1, Fact(0, " ｌikes  TEA.", 0.0, "person"))
    assert (again.id, again.author, again.at, again.pinned) == (first.id, "person", clock.now, True)
    assert await store.of(1) == (again,)


async def test_another_persons_facts_are_out_of_reach(store: FactStore) -> None:
    mine = await store.add(1, TEA)
    assert await store.edit(2, mine.id, "Likes coffee") is None
    assert await store.pin(2, mine.id, True) is None
    assert await store.delete(2, [mine.id]) == ()
    assert await store.of(1) == (mine,)


async def test_an_edited_fact_is_the_persons_and_replaces_an_equal_one(store: FactStore, clock: ManualClock) -> None:
    tea, bonn = await store.add(1, TEA), await store.add(1, Fact(0, "Lives in Bonn", 0.0, "model"))
    clock.now += 60
    edited = await store.edit(1, bonn.id, "likes TEA")
    assert edited == Fact(bonn.id, "likes TEA", clock.now, "person")
    assert await store.of(1) == (edited,)
    assert await store.edit(1, tea.id, "gone") is None
    assert await store.edit(1, bonn.id, "Likes tea") is not None, "to itself"


async def test_facts_are_pinned_and_deleted(store: FactStore) -> None:
    tea, bonn = await store.add(1, TEA), await store.add(1, Fact(0, "Lives in Bonn", 0.0, "model"))
    assert await store.pin(1, tea.id, True) == replace(tea, pinned=True)
    assert await store.pin(1, 999, True) is None
    assert await store.delete(1, [bonn.id, 999]) == (bonn,)
    assert await store.of(1) == (replace(tea, pinned=True),)


async def test_the_number_of_facts_is_bounded(store: FactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("storage.facts", "tests.fakes"):
        monkeypatch.setattr(f"{place}.MAX_FACTS", 2)
    for text in ("one", "two"):
        await store.add(1, Fact(0, text, 0.0, "person"))
    with pytest.raises(Refused):
        await store.add(1, Fact(0, "three", 0.0, "person"))
    await store.add(1, Fact(0, "Two", 0.0, "person"))
    assert [each.text for each in await store.of(1)] == ["one", "Two"]


async def test_linked_people_share_their_facts_without_duplicates(stores: Stores, ann: int) -> None:
    far = UserKey("discord", "2")
    ben = (await stores.people.admit(far, "Ben", "user", "t")).id
    mine = await stores.facts.add(ann, TEA)
    await stores.facts.add(ben, Fact(0, "likes tea.", 0.0, "person"))
    theirs = await stores.facts.add(ben, Fact(0, "Lives in Bonn", 0.0, "person"))
    await stores.links.offer(ann, "CODE", 2e9)
    await stores.links.join("CODE", far, "t")
    assert await stores.facts.of(ann) == (mine, theirs)
    assert await stores.facts.of(ben) == ()


async def test_forgetting_a_person_deletes_their_facts(stores: Stores, ann: int) -> None:
    await stores.facts.add(ann, TEA)
    await stores.people.forget(ann, "t")
    assert await stores.facts.of(ann) == ()


async def test_a_person_without_facts_is_known_from_their_account(database: Database, clock: ManualClock) -> None:
    counting = Counting(database)
    stores = open_stores(counting, clock)
    await stores.people.admit(BEN, "Ben", "user", "t")  # the first write clears the caches
    known = await stores.people.admit_sender(ANN, Profile("Ann", "ann", "en"), "user", "t")
    writes, reads = counting.writes, counting.reads
    assert await stores.facts.of(known.id) == ()
    assert (counting.writes, counting.reads) == (writes, reads)
    await stores.facts.add(known.id, TEA)
    again = open_stores(counting, clock)
    assert await again.people.find(ANN) is not None
    assert [each.text for each in await again.facts.of(known.id)] == ["Likes tea"]
    reads = counting.reads
    await again.facts.of(known.id)
    assert counting.reads == reads


async def test_a_read_overtaken_by_a_change_is_not_cached(database: Database, clock: ManualClock, ann: int) -> None:
    late = Late(database)
    store = SqlFacts(late, clock)

    reading = asyncio.create_task(store.of(ann))
    await late.have_read.wait()
    added = await store.add(ann, TEA)
    late.may_return.set()
    assert await reading == ()
    assert await store.of(ann) == (added,)


async def test_a_cancelled_change_leaves_nothing_stale(database: Database, clock: ManualClock, ann: int) -> None:

    store = SqlFacts(database, clock)
    assert await store.of(ann) == ()
    adding = asyncio.create_task(store.add(ann, TEA))
    await asyncio.sleep(0)
    adding.cancel()
    await asyncio.wait([adding])
    assert await store.of(ann) == await SqlFacts(database, clock).of(ann)


async def test_the_cache_is_bounded(database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CACHED", 10)
    everyone = SqlPeople(database, SqlPreferences(database), clock)
    ids = [(await everyone.admit(UserKey("telegram", str(n)), "", "user", "t")).id for n in range(8)]
    row = {"at": 0.0, "author": "person", "conversation_id": 0, "turn_id": "", "sources": "[]", "pinned": False}
    rows = [row | {"person_id": each, "text": f"fact {n}"} for each in ids[:4] for n in range(4)]
    await database.write(lambda c: c.execute(insert(facts), rows))
    store = SqlFacts(database, clock)
    for _ in range(2):
        assert [len(await store.of(each)) for each in ids] == [4] * 4 + [0] * 4
    assert store._cache.total <= 10
    assert MAX_FACTS < 20_000


def test_a_fact_is_one_visible_line() -> None:

    assert fact_text(" a\n\nb\u202ec\x00d \U0001f469\u200d\U0001f692 ") == "a b c d \U0001f469\u200d\U0001f692"
