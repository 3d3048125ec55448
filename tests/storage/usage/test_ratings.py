"""An answer is found by each of its messages until it expires, on SQLite and PostgreSQL."""

from __future__ import annotations

import pytest

from routing.types.history import TurnFacts, TurnRecord
from routing.types.messages import ChatKey, OutboundMessage
from storage.database import Database
from storage.schema import pieces
from storage.stores import Stores
from storage.usage.turns import SqlRatings
from tests.fakes import ManualClock
from tests.storage.samples import BEN, HOME, OTHER, TOPIC


@pytest.fixture
def ratings(database: Database) -> SqlRatings:
    return SqlRatings(database)


async def answer(stores: Stores, person: int, turn_id: str, chat: ChatKey, *shown: str, model: str = "a/x") -> None:
    """A turn whose answer consists of these messages."""
    here = await stores.history.current(chat)
    facts = TurnFacts("balanced", "default", model, 1.0)
    (entry,) = await stores.ledger.finish(
        [], [OutboundMessage(chat, "a")], TurnRecord(turn_id, here.id, person, "q", facts=facts)
    )
    for count, message_id in enumerate(shown[:-1], 1):
        await stores.outbox.piece_sent(entry.id, count, message_id)
    await stores.outbox.sent(entry.id, shown[-1])


async def test_every_message_of_an_answer_identifies_its_turn(stores: Stores, ratings: SqlRatings, ann: int) -> None:
    await answer(stores, ann, "t1", HOME, "10", "11", "12")
    await answer(stores, ann, "t2", TOPIC, "10")
    assert [await ratings.turn_of(HOME, each) for each in ("10", "11", "12", "13")] == ["t1", "t1", "t1", None]
    assert await ratings.turn_of(OTHER, "10") == "t2", "reactions do not name the topic of a message"
    assert await ratings.turn_of(ChatKey("discord", "1"), "10") is None


async def test_other_messages_identify_no_turn(stores: Stores, ratings: SqlRatings, ann: int) -> None:
    await answer(stores, ann, "none", HOME, "1", model="")
    (notice,) = await stores.outbox.add([OutboundMessage(HOME, "a notice")])
    await stores.outbox.sent(notice.id, "2")
    here = await stores.history.current(HOME)
    (compacted,) = await stores.ledger.finish([], [OutboundMessage(HOME, "x")], TurnRecord("c", here.id, ann, ""))
    await stores.outbox.sent(compacted.id, "3")
    assert [await ratings.turn_of(HOME, each) for each in "123"] == [None, None, None]
    assert await ratings.newest(HOME, ann) is None


async def test_the_newest_answer_is_the_persons_own_in_that_chat(stores: Stores, ratings: SqlRatings, ann: int) -> None:
    ben = (await stores.people.admit(BEN, "Ben", "user", "t")).id
    await answer(stores, ann, "t1", OTHER, "1")
    await answer(stores, ann, "t2", OTHER, "2")
    await answer(stores, ben, "t3", OTHER, "3")
    await answer(stores, ann, "t4", TOPIC, "4")
    assert [await ratings.newest(OTHER, each) for each in (ann, ben)] == ["t2", "t3"]
    assert (await ratings.newest(TOPIC, ann), await ratings.newest(HOME, ann)) == ("t4", None)


async def test_only_the_current_rating_can_be_removed(stores: Stores, ratings: SqlRatings, ann: int) -> None:
    await answer(stores, ann, "t1", HOME, "1")
    assert await stores.turns.rate("t1", ann, 1)
    assert not await ratings.take_back("t1", ann, -1)
    assert not await ratings.take_back("t1", ann + 1, 1)
    assert (await stores.turns.by_tier())[0].liked == 1
    assert await ratings.take_back("t1", ann, 1)
    assert (await stores.turns.by_tier())[0].liked == 0


async def test_expired_answers_are_deleted_completely(
    stores: Stores, ratings: SqlRatings, database: Database, clock: ManualClock, ann: int
) -> None:
    await answer(stores, ann, "t1", HOME, "1", "2")
    await stores.outbox.sweep(clock.now + 1)
    assert await ratings.turn_of(HOME, "2") is None
    assert await ratings.newest(HOME, ann) is None
    assert await database.read(lambda c: c.execute(pieces.select()).all()) == []


async def test_a_group_that_moves_takes_its_answers_along(stores: Stores, ratings: SqlRatings, ann: int) -> None:
    await answer(stores, ann, "t1", OTHER, "1")
    await stores.chats.moved(OTHER, "-100")
    assert await ratings.newest(ChatKey("telegram", "-100"), ann) == "t1"
