"""The stores' caches of chats and people are bounded, and evictions lose nothing."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import pytest

from routing.types.messages import ChatKey, UserKey
from routing.types.people import Profile
from storage import history, state
from storage.database import Database
from storage.history import SqlHistory
from storage.people import account_cache, preferences
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.state import SqlChats
from tests.fakes import ManualClock
from tests.polling import until
from tests.storage.fakes import Counting, Late
from tests.storage.samples import ANN

CACHE_SIZE = 20
T = TypeVar("T")


def kept(store: object) -> int:
    """Number of entries in a store's caches."""
    return max(len(table) for table in vars(store).values() if isinstance(table, dict))


async def test_the_cache_is_bounded_and_reloads(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_CACHE_SIZE", CACHE_SIZE)
    monkeypatch.setattr(preferences, "_CACHE_BYTES", CACHE_SIZE * 1_000)
    settings, talks = SqlPreferences(database), SqlHistory(database, clock)
    ann = await SqlPeople(database, settings, clock).admit(ANN, "Ann", "user", "t")
    await settings.set_tier(ann.id, "smart", True)
    chats = [ChatKey("telegram", str(number)) for number in range(3 * CACHE_SIZE)]
    first = await talks.current(chats[0])
    await talks.set_skill(first.id, "poet")
    for number, chat in enumerate(chats):
        await talks.switches((await talks.current(chat)).id)
        await settings.get(ann.id + number)
        assert max(kept(talks), kept(settings)) <= CACHE_SIZE
    assert (await talks.current(chats[0])).id == first.id
    assert (await talks.switches(first.id)).skill == "poet"
    assert (await settings.get(ann.id)).tier == "smart"


async def test_the_cache_of_accounts_and_groups_is_bounded(
    database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (account_cache, state):
        monkeypatch.setattr(module, "_CACHE_SIZE", CACHE_SIZE)
    everyone, groups = SqlPeople(database, SqlPreferences(database), clock), SqlChats(database, clock)
    accounts = [UserKey("telegram", str(number)) for number in range(2 * CACHE_SIZE)]
    for user in accounts:
        await everyone.admit(user, "", "user", "t")
        await everyone.seen(user, Profile("", f"name{user.user_id}", "de"))
    for user in accounts:
        await everyone.find(user)
        await groups.allowed(ChatKey("telegram", user.user_id))
        assert max(kept(everyone._cache), kept(groups)) <= CACHE_SIZE
    assert (await everyone.usernames())[accounts[0]] == "name0"


async def test_a_read_overtaken_by_a_change_is_not_cached(database: Database, clock: ManualClock) -> None:
    ann = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "t")
    talk = await SqlHistory(database, clock).current(ChatKey("telegram", "1"))
    late = Late(database, 2)
    settings, talks = SqlPreferences(late), SqlHistory(late, clock)
    preferences, switches = asyncio.create_task(settings.get(ann.id)), asyncio.create_task(talks.switches(talk.id))
    await late.have_read.wait()
    await settings.set_tier(ann.id, "smart", True)
    await talks.set_skill(talk.id, "poet")
    late.may_return.set()
    await asyncio.wait([preferences, switches])
    assert (await settings.get(ann.id)).tier == "smart"
    assert (await talks.switches(talk.id)).skill == "poet"


async def test_a_conversation_read_before_a_new_one_began_is_not_cached(database: Database, clock: ManualClock) -> None:
    chat = ChatKey("telegram", "1")
    await SqlHistory(database, clock).begin(chat)
    late = Counting(database)
    talks, held = SqlHistory(late, clock), late.write_gate
    held.clear()
    reading = asyncio.create_task(talks.current(chat))
    await until(lambda: late.writes)
    late.write_gate = asyncio.Event()
    late.write_gate.set()
    begun = await talks.begin(chat)
    held.set()
    await reading
    assert await talks.current(chat) == begun


async def test_a_conversation_begun_by_a_cancelled_command_is_current(database: Database, clock: ManualClock) -> None:
    talks, chat = SqlHistory(database, clock), ChatKey("telegram", "1")
    first = await talks.current(chat)
    for change in (talks.begin(chat), talks.resume(first)):
        changing = asyncio.create_task(change)
        await asyncio.sleep(0)
        changing.cancel()
        await asyncio.wait([changing])
        assert await talks.current(chat) == await SqlHistory(database, clock).current(chat)
