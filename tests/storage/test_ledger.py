"""A turn's result is stored completely or not at all, on SQLite and PostgreSQL."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy.exc import SQLAlchemyError

from routing.errors import StorageFault
from routing.types.llm import Usage
from routing.types.messages import OutboundMessage, UserKey
from storage.database import Database
from storage.history import SqlHistory
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.usage.spending import SqlUsage
from tests.fakes import ManualClock
from tests.storage.samples import ANN, HOME, message, record


async def test_a_turn_is_stored_atomically(database: Database, clock: ManualClock) -> None:
    inbox, outbox, history = SqlInbox(database, clock), SqlOutbox(database, clock), SqlHistory(database, clock)
    people = SqlPeople(database, SqlPreferences(database), clock)
    ann = await people.admit(ANN, "Ann", "user", "t")
    (entry,) = await inbox.accept([message("1")])
    here = await history.current(HOME)
    broken = record(here.id, ann.id, "q", "a", seconds="not a number")
    with pytest.raises((SQLAlchemyError, StorageFault)):
        await SqlLedger(database, clock).finish([entry.id], [OutboundMessage(HOME, "reply")], broken)
    assert [e.id for e in await inbox.unfinished()] == [entry.id]
    assert await outbox.unsent() == ()
    assert (await history.messages(here.id, 5))[1] == 0


async def test_texts_and_large_numbers_are_stored_unchanged(database: Database, clock: ManualClock) -> None:
    people, history, ledger = (
        SqlPeople(database, SqlPreferences(database), clock),
        SqlHistory(database, clock),
        SqlLedger(database, clock),
    )
    ann = await people.admit(UserKey("telegram", str(2**62)), "Añ 👩‍👩‍👧", "user", "t")
    here = await history.current(HOME)
    text = "日本 '\"%s :x \\ \u202e 👍🏽 " + "x" * 500_000
    await ledger.finish([], [], record(here.id, ann.id, text, text, usage=Usage(2**31 - 1, 1, cost=Decimal(9_000_000))))
    assert [m.text for m in (await history.messages(here.id, 2))[0]] == [text, text]
    assert (await SqlUsage(database).by_model())[0].cost == 9_000_000
