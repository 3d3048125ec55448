"""The inbox, on SQLite and PostgreSQL."""

from __future__ import annotations

from storage.database import Database
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from tests.fakes import ManualClock
from tests.storage.samples import message


async def test_the_inbox_stores_each_update_once_in_order(database: Database, clock: ManualClock) -> None:
    inbox, ledger = SqlInbox(database, clock), SqlLedger(database, clock)
    first = await inbox.accept([message("1"), message("2"), message("1")])
    assert [entry.message for entry in first] == [message("1"), message("2")]
    assert await inbox.accept([message("2"), message("3")]) != ()
    await inbox.begin([first[0].id])
    await inbox.placeholder(first[0].id, "777")
    unfinished = await inbox.unfinished()
    assert [(e.message.update_id, e.attempts, e.placeholder) for e in unfinished] == [
        ("1", 1, "777"), ("2", 0, ""), ("3", 0, ""),
    ]  # fmt: skip
    await ledger.finish([first[0].id, first[1].id], [])
    assert [entry.message.update_id for entry in await inbox.unfinished()] == ["3"]
    assert await inbox.accept([message("1")]) == ()
    await inbox.sweep(clock.now + 1)
    assert len(await inbox.accept([message("1"), message("3")])) == 1
