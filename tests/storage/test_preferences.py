"""Each person's settings, on SQLite and PostgreSQL."""

from __future__ import annotations

import pytest

from routing.types.people import Override, PersonSettings, Preferences
from storage.database import Database
from storage.people import preferences
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from tests.fakes import ManualClock
from tests.storage.fakes import Counting
from tests.storage.samples import ANN, BEN


async def test_preferences_start_empty_and_are_set_one_by_one(database: Database, clock: ManualClock) -> None:
    store = SqlPreferences(database)
    people = SqlPeople(database, store, clock)
    ann, ben = await people.admit(ANN, "Ann", "user", "t"), await people.admit(BEN, "Ben", "user", "t")
    assert await store.get(ann.id) == Preferences()
    assert await store.settings(ann.id) == PersonSettings()
    await store.set_tier(ann.id, "smart", True)
    await store.set_override(ann.id, "deep", Override("a/b", "high"))
    await store.set_override(ann.id, "deep", Override("a/c", None))
    mine = PersonSettings("de", "Europe/Berlin", "brief", frozenset({"git", "my 'odd', server"}))
    await store.set_settings(ann.id, mine)
    for fresh in (store, SqlPreferences(database)):
        assert await fresh.get(ann.id) == Preferences("smart", True, {"deep": Override("a/c", None)})
        assert await fresh.settings(ann.id) == mine
        assert await fresh.get(ben.id) == Preferences()
    found = await people.find(ANN)
    assert found is not None
    assert found.language == "de"
    assert await store.clear_override(ann.id, "deep") is True
    assert await store.clear_override(ann.id, "deep") is False
    assert (await store.get(ann.id)) == Preferences("smart", True, {})
    await store.set_settings(ann.id, PersonSettings())
    assert await SqlPreferences(database).settings(ann.id) == PersonSettings()


async def test_long_instructions_push_the_oldest_people_out_of_memory(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preferences, "_CACHE_BYTES", 100_000)
    counting = Counting(database)
    store = SqlPreferences(counting)
    people = range(1, 91)
    for person in people:
        store.keep(person, (Preferences(), PersonSettings(instructions="x" * 1_950 * (person > 80))), store.changes)
    for person in people[-70:]:
        await store.settings(person)
    assert counting.reads == 0
    await store.settings(people[0])
    assert counting.reads == 1
