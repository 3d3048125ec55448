"""Examples of people's use, in the databases and in the tests' own store."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from routing.ports import ExampleStore
from routing.types.learning import Example, Lesson
from routing.types.messages import UserKey
from routing.types.people import Profile
from storage.database import Database
from storage.examples import SqlExamples
from storage.stores import Stores, open_stores
from tests.fakes import FakeExamples, ManualClock
from tests.storage.fakes import Counting, Late
from tests.storage.samples import ANN, BEN

RAIN, TIER = Lesson("found", "forecast"), Lesson("tier", "coding")


def example(turn: str, lesson: Lesson = RAIN, vector: bytes = b"\x01\xff") -> Example:
    return Example(0, lesson, turn, "static:1", vector)


async def turns(store: ExampleStore, person_id: int) -> list[str]:
    return [each.turn_id for each in await store.of(person_id)]


@pytest.fixture(params=["database", "memory"])
async def store(request: pytest.FixtureRequest, stores: Stores, clock: ManualClock) -> ExampleStore:
    """A store that knows the people 1 and 2."""
    for user in (ANN, BEN):
        await stores.people.admit(user, "", "user", "t")
    return stores.examples if request.param == "database" else FakeExamples(clock)


async def test_examples_are_kept_per_person(store: ExampleStore, clock: ManualClock) -> None:
    await store.add(1, [example("t1"), example("t1", TIER)])
    first, second = await store.of(1)
    assert first == replace(example("t1"), id=first.id, at=clock.now)
    assert second == replace(example("t1", TIER), id=second.id, at=clock.now)
    assert await store.of(1) is await store.of(1), "the same tuple until it changes"
    assert await store.of(2) == ()
    await store.add(1, [])
    assert len(await store.of(1)) == 2


async def test_the_same_lesson_of_a_turn_is_kept_once(store: ExampleStore) -> None:
    await store.add(1, [example("t1"), example("t2")])
    await store.add(1, [example("t1", vector=b"\x02\x02")])
    assert [(each.turn_id, each.vector) for each in await store.of(1)] == [("t2", b"\x01\xff"), ("t1", b"\x02\x02")]


async def test_a_lesson_is_taken_back_by_its_turn_and_signal(store: ExampleStore) -> None:
    for person in (1, 2):
        await store.add(person, [example("t1"), example("t1", TIER), example("t2")])
    await store.remove(1, "t1", ("tier", "disliked"))
    assert [(each.turn_id, each.lesson) for each in await store.of(1)] == [("t1", RAIN), ("t2", RAIN)]
    assert len(await store.of(2)) == 3


async def test_examples_are_cleared_for_one_or_for_everyone(store: ExampleStore) -> None:
    for person in (1, 2):
        await store.add(person, [example("t1"), example("t2")])
    assert await store.clear(1) == 2
    assert (await turns(store, 1), await turns(store, 2)) == ([], ["t1", "t2"])
    assert await store.clear() == 2
    assert await turns(store, 2) == []


async def test_the_newest_stay_per_person_and_in_all(store: ExampleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("storage.examples", "tests.fakes"):
        monkeypatch.setattr(f"{place}.MAX_EXAMPLES", 3)
        monkeypatch.setattr(f"{place}.MAX_ALL_EXAMPLES", 5)
    await store.add(2, [example(f"b{n}") for n in range(3)])
    for number in range(4):
        await store.add(1, [example(f"a{number}")])
    assert await turns(store, 1) == ["a1", "a2", "a3"]
    assert await turns(store, 2) == ["b2"]


async def test_nothing_is_kept_of_a_forgotten_person(stores: Stores, ann: int) -> None:
    await stores.examples.add(ann, [example("t1")])
    await stores.people.forget(ann, "t")
    assert await stores.examples.of(ann) == ()
    await stores.examples.add(ann, [example("t2")])
    assert await stores.examples.of(ann) == ()


async def test_linked_people_share_their_examples(stores: Stores, ann: int) -> None:
    far = UserKey("discord", "2")
    ben = (await stores.people.admit(far, "Ben", "user", "t")).id
    await stores.examples.add(ann, [example("t1")])
    await stores.examples.add(ben, [example("t2")])
    await stores.links.offer(ann, "CODE", 2e9)
    await stores.links.join("CODE", far, "t")
    assert await turns(stores.examples, ann) == ["t1", "t2"]
    assert await stores.examples.of(ben) == ()


async def test_old_examples_are_deleted(stores: Stores, clock: ManualClock, ann: int) -> None:
    await stores.examples.add(ann, [example("t1")])
    clock.now += 100
    await stores.examples.add(ann, [example("t2")])
    await stores.retention.prune(clock.now - 50, clock.now)
    assert await turns(stores.examples, ann) == ["t2"]


async def test_a_person_without_examples_is_known_from_their_account(database: Database, clock: ManualClock) -> None:
    counting = Counting(database)
    stores = open_stores(counting, clock)
    await stores.people.admit(BEN, "Ben", "user", "t")  # the first write clears the caches
    known = await stores.people.admit_sender(ANN, Profile("Ann", "ann", "en"), "user", "t")
    reads = counting.reads
    assert await stores.examples.of(known.id) == ()
    assert counting.reads == reads
    await stores.examples.add(known.id, [example("t1")])
    again = open_stores(counting, clock)
    assert await again.people.find(ANN) is not None
    assert await turns(again.examples, known.id) == ["t1"]


async def test_a_read_overtaken_by_a_change_is_not_cached(database: Database, clock: ManualClock, ann: int) -> None:
    late = Late(database)
    store = SqlExamples(late, clock)
    reading = asyncio.create_task(store.of(ann))
    await late.have_read.wait()
    await store.add(ann, [example("t1")])
    late.may_return.set()
    assert await reading == ()
    assert await turns(store, ann) == ["t1"]
