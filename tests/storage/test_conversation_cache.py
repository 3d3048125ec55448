"""The cache of conversations shows what is stored, and is bounded."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal
from typing import TypeVar

import pytest

from routing.types.budgets import PersonLimits
from routing.types.history import StoredMessage, Summary
from routing.types.llm import ChatMessage, ToolCall
from storage import conversation_cache
from storage.conversation_cache import ConversationCache, Unsummarised
from storage.database import Database, is_sqlite, open_database, parse_url
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.polling import until
from tests.storage.fakes import Counting, Late
from tests.storage.samples import ANN, BEN, HOME, OTHER, PHOTO, record

LIMIT = 7
T = TypeVar("T")


@pytest.fixture
async def here(stores: Stores, ann: int) -> int:
    """A conversation with one turn, which is in the cache."""
    conversation = (await stores.history.current(HOME)).id
    await stores.history.unsummarised(conversation, LIMIT)
    await stores.ledger.finish([], [], record(conversation, ann, "one", "eins"))
    return conversation


async def texts(stores: Stores, conversation: int) -> list[str]:
    return [each.text for each in (await stores.history.unsummarised(conversation, LIMIT))[1]]


async def shows_what_is_stored(stores: Stores, clock: ManualClock, *conversations: int) -> None:
    for each in conversations:
        stored = await SqlHistory(stores.database, clock).unsummarised(each, LIMIT)
        assert await stores.history.unsummarised(each, LIMIT) == stored


@pytest.mark.parametrize("new", [True, False])
async def test_a_conversation_is_read_at_most_once(database: Database, clock: ManualClock, ann: int, new: bool) -> None:
    if not new:
        await SqlHistory(database, clock).current(HOME)
    counting = Counting(database)
    stores = open_stores(counting, clock)
    conversation = (await stores.history.current(HOME)).id
    assert (await stores.history.switches(conversation)).skill == ""
    for number in range(5):
        assert len(await texts(stores, conversation)) == min(2 * number, LIMIT)
        await stores.ledger.finish([], [], record(conversation, ann, f"q{number}", f"a{number}"))
    assert counting.reads == (0 if new else 1)


async def test_all_changes_show(stores: Stores, clock: ManualClock, ann: int) -> None:
    dice = random.Random(17)
    ben = (await stores.people.admit(BEN, "Ben", "user", "t")).id
    talks = [(await stores.history.current(chat)).id for chat in (HOME, OTHER)]
    call = ToolCall("c1", "tool", '{"a": "ä"}', "signed")
    used = (
        ChatMessage("assistant", "", calls=(call,), made_by="openai/m", thinking="[1]"),
        ChatMessage("tool", "result", call_id="c1", tool="tool"),
        ChatMessage("assistant", "done " * 30),
    )
    for number in range(150):
        clock.now += 1.5
        talk, person = dice.choice(talks), dice.choice([ann, ben])
        _, found, _ = await stores.history.unsummarised(talk, LIMIT)
        match dice.randrange(8):
            case 0 if found:
                first = dice.choice(found).id
                await stores.ledger.finish([], [], record(talk, person, "again", "yes", replaces_from=first))
            case 1 if len(found) > 2:
                await stores.history.summarise(talk, Summary(found[2].id, f"s{number}", found[2].id))
            case 2:
                await stores.history.shorten(talk, 40)
            case 3:
                turn = record(talk, person, "", pictures=(PHOTO,), source="s1")
                await stores.ledger.finish([], [], turn)
            case 4:
                await stores.ledger.finish([], [], record(talk, person, ""))
            case 5:
                replies = record(talk, person, f"q{number}")
                object.__setattr__(replies, "messages", used)
                await stores.ledger.finish([], [], replies)
            case _:
                await stores.ledger.finish([], [], record(talk, person, f"q{number}", "a" * number))
        await shows_what_is_stored(stores, clock, *talks)
    await stores.people.forget(ben, "t")
    await shows_what_is_stored(stores, clock, *talks)


async def test_a_linked_account_shows(stores: Stores, clock: ManualClock, ann: int, here: int) -> None:
    ben = (await stores.people.admit(BEN, "Ben", "user", "t")).id
    await stores.ledger.finish([], [], record(here, ben, "two", "zwei"))
    await stores.links.offer(ann, "CODE", 600.0)
    await stores.links.join("CODE", BEN, "t")
    assert {each.person_id for each in (await stores.history.unsummarised(here, LIMIT))[1]} == {ann}


async def test_forgotten_people_and_their_summaries_are_gone(
    stores: Stores, clock: ManualClock, ann: int, here: int
) -> None:
    ben = (await stores.people.admit(BEN, "Ben", "user", "t")).id
    await stores.ledger.finish([], [], record(here, ben, "two", "zwei"))
    await stores.people.forget(ben, "t")
    assert await texts(stores, here) == ["one", "eins"]
    late = record(here, ben, "three", "drei")
    await stores.ledger.finish([], [], late)
    assert await texts(stores, here) == ["one", "eins"], "a turn of someone forgotten meanwhile"


async def test_deleted_old_messages_are_gone(stores: Stores, clock: ManualClock, here: int) -> None:
    clock.now += 1.0
    await stores.retention.prune(clock.now, clock.now)
    assert await texts(stores, here) == []


async def test_a_cancelled_turn_shows_if_it_was_stored(stores: Stores, ann: int, here: int) -> None:
    ending = asyncio.create_task(stores.ledger.finish([], [], record(here, ann, "two", "zwei")))
    await asyncio.sleep(0)
    ending.cancel()
    await asyncio.wait([ending])
    stored, _ = await stores.history.messages(here, LIMIT)
    assert await texts(stores, here) == [each.text for each in stored]


@pytest.mark.parametrize("change", ["turn", "summary", "forget", "outside"])
async def test_a_read_overtaken_by_a_change_is_not_kept(
    database: Database, clock: ManualClock, stores: Stores, ann: int, here: int, change: str
) -> None:
    late = Late(database)
    slow = open_stores(late, clock)
    reading = asyncio.create_task(slow.history.unsummarised(here, LIMIT))
    await late.have_read.wait()
    if change == "turn":
        await slow.ledger.finish([], [], record(here, ann, "two", "zwei"))
    elif change == "summary":
        await slow.history.summarise(here, Summary(1, "both", 1))
    elif change == "forget":
        await slow.people.forget(ann, "t")
    else:
        await stores.history.shorten(here, 3)
        slow.history.clear()
    late.may_return.set()
    await reading
    await shows_what_is_stored(slow, clock, here)


@pytest.fixture
async def beside(database_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    """Another process with the same database."""
    database = open_database(database_url)
    yield open_stores(database, clock)
    await database.close()


@pytest.fixture
def noticed(stores: Stores, beside: Stores, ann: int) -> Callable[[], Awaitable[None]]:
    """Waits until `stores` knows of the other process's changes so far. On PostgreSQL, the notice of a later change
    arrives after theirs."""
    heard: list[int] = []
    stores.database.on_outside_change(lambda: heard.append(1), ("budgets",))

    async def wait() -> None:
        heard.clear()
        await beside.budgets.set(ann, PersonLimits(), "t")
        await beside.budgets.set(ann, PersonLimits(daily=Decimal(1)), "t")
        await stores.state.put("the next message", "arrives")
        await until(lambda: heard)

    return wait


async def test_turns_of_another_process_show(
    stores: Stores, beside: Stores, ann: int, here: int, database_url: str
) -> None:
    """On PostgreSQL, a chat that goes to another process is given back first."""
    shared = not is_sqlite(parse_url(database_url))

    async def give_back() -> None:
        if shared:
            stores.history.release({HOME.claim})
            await stores.history.current(HOME)

    assert await texts(stores, here) == ["one", "eins"]
    await give_back()
    await beside.ledger.finish([], [], record(here, ann, "two", "zwei"))
    await stores.state.put("the next message", "arrives")
    assert await texts(stores, here) == ["one", "eins", "two", "zwei"]
    await give_back()
    await beside.ledger.finish([], [], record(here, ann, "three", "drei"))
    await stores.ledger.finish([], [], record(here, ann, "four", "vier"))
    assert await texts(stores, here) == ["eins", "two", "zwei", "three", "drei", "four", "vier"]


async def test_changes_of_another_process_show_everywhere(
    stores: Stores, beside: Stores, ann: int, here: int, noticed: Callable[[], Awaitable[None]]
) -> None:
    async def seen() -> tuple[object, ...]:
        return (
            await stores.people.find(ANN),
            await stores.people.find(BEN),
            await stores.preferences.get(ann),
            await stores.preferences.settings(ann),
            await stores.history.switches(here),
            (await stores.history.current(HOME)).id,
            await stores.chats.allowed(OTHER),
        )

    before = await seen()
    await beside.people.admit(ANN, "Ann", "user", "t")
    await beside.people.admit(BEN, "Ben", "user", "t")
    await beside.preferences.set_tier(ann, "smart", True)
    settings = await beside.preferences.settings(ann)
    object.__setattr__(settings, "footer", True)
    await beside.preferences.set_settings(ann, settings)
    await beside.history.set_skill(here, "poet")
    await beside.history.begin(HOME)
    await beside.chats.set_allowed(OTHER, True, "t")
    await noticed()
    after = await seen()
    assert [old == new for old, new in zip(before, after, strict=True)] == [False] * len(before)


async def test_own_changes_are_no_outside_changes(
    database: Database, stores: Stores, beside: Stores, database_url: str
) -> None:
    """On SQLite. PostgreSQL tells only of some tables: tests/storage/test_outside_rows.py."""
    if not is_sqlite(parse_url(database_url)):
        return
    changes: list[int] = []
    await beside.state.put("a", "1")
    await stores.state.put("a", "2")
    database.on_outside_change(lambda: changes.append(1), ("chats",))
    for number in range(5):
        await stores.state.put("a", str(number))
        await stores.state.get("a")
    await asyncio.gather(*(stores.state.put(f"b{number}", "1") for number in range(20)))
    assert changes == []
    await beside.state.put("a", "1")
    await stores.state.put("a", "2")
    await stores.state.put("a", "3")
    assert changes == [1]


def stored_message(message_id: int, length: int) -> StoredMessage:
    return StoredMessage(message_id, "user", "x" * length, 1.0)


async def test_memory_is_bounded() -> None:
    cache = ConversationCache(100_000)
    reads: list[int] = []

    async def get(conversation: int, length: int = 1_000) -> Unsummarised:
        async def read() -> Unsummarised:
            reads.append(conversation)
            return None, (stored_message(1, length),), 1

        return await cache.get(conversation, LIMIT, read)

    for conversation in range(200):
        await get(conversation)
        await get(0)
    assert reads.count(0) == 1, "what is used stays"
    assert len(cache._entries) < 60
    kept = sum(each.bytes for each in cache._entries.values())
    assert kept == cache._entries.total <= 100_000
    await get(500, 20_000)
    assert 500 not in cache._entries, "one long conversation does not push out the others"
    for number in range(2, 20):
        cache.add(0, [stored_message(number, 1_000)])
    assert len((await get(0))[1]) == LIMIT
    assert cache._entries.total == sum(each.bytes for each in cache._entries.values())
    cache.add(0, [stored_message(99, 50_000)])
    assert 0 not in cache._entries
    cache.clear()
    assert (cache._entries.total, cache._entries) == (0, {})
    assert conversation_cache.MAX_BYTES == 8_000_000


async def test_an_ended_conversation_leaves_memory(stores: Stores, clock: ManualClock, ann: int, here: int) -> None:
    cache = stores.history._cache
    assert cache is not None
    (ended,) = await stores.history.recent(HOME, 1)
    new = await stores.history.begin(HOME)
    await stores.ledger.finish([], [], record(here, ann, "late", "spät"))
    assert await texts(stores, new.id) == []
    assert list(cache._entries) == [new.id]
    await stores.history.resume(ended)
    await shows_what_is_stored(stores, clock, here, new.id)


async def test_without_a_cache_each_read_is_fresh(database: Database, clock: ManualClock, ann: int) -> None:
    history, ledger = SqlHistory(database, clock), SqlLedger(database, clock)
    conversation = (await history.current(HOME)).id
    assert (await history.unsummarised(conversation, LIMIT))[2] == 0
    await ledger.finish([], [], record(conversation, ann, "one", "eins"))
    assert (await history.unsummarised(conversation, LIMIT))[2] == 2
