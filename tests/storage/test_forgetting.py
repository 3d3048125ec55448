"""A forgotten person leaves nothing in any table; a new table has to say how that is."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select

from routing.ports import EDIT_KEY
from routing.types.messages import ChatKey, OutboundMessage, OutgoingFile, UserKey
from routing.types.people import Pairing
from storage.codec import FILES, INBOUND, OUTBOUND
from storage.database import Database
from storage.people.forgetting import ADOPTION
from storage.schema import audit, conversations, metadata, outbox
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.storage.every_table import everything, row
from tests.storage.samples import message


@dataclass(frozen=True, slots=True)
class Someone:
    """A person whose rows have `number` as their ids, and `mark` in every text."""

    number: int
    mark: str

    @property
    def user(self) -> UserKey:
        return UserKey("telegram", f"{self.mark}{self.number}")

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """A row in every table, as the bot stores what belongs to the person."""
        who, here = self.number, {"platform": "telegram", "chat_id": self.user.user_id, "thread_id": ""}
        reply = OutboundMessage(ChatKey(**here), self.mark, owner=who)
        of_account = {"platform": "telegram", "user_id": self.user.user_id}
        files = FILES.dump((OutgoingFile(f"{self.mark}.txt", "text/plain", key=self.mark),))
        names = json.dumps([f"{self.user} discord:{self.mark}", f"with {self.user}"])
        payload = INBOUND.dump(message(self.mark, self.mark))[:-1].replace(
            '"user_id":"1"', f'"user_id":"{of_account["user_id"]}"'
        )
        specific: dict[str, list[dict[str, Any]]] = {
            "people": [{"role": "user"}],
            "identities": [of_account, {"platform": "discord", "user_id": self.mark}],
            "chats": [here],
            "conversations": [here],
            "inbox": [{"platform": "telegram", "state": "unreadable", "payload": payload}],
            "outbox": [here | {"state": "sent", "payload": OUTBOUND.dump(reply)}],
            "pieces": [{"outbox_id": who}],
            "pairings": [of_account | {"messages": "[]"}],
            "actions": [{"files": files}],
            "preferences": [{"toolkits_off": "[]"}],
            "facts": [{"sources": "[]"}],
            "audit": [{"actor": str(self.user), "action": "link", "detail": names}],
            "state": [{"key": EDIT_KEY.format(person_id=who)}, {"key": f"{ADOPTION}{who + 50}", "value": str(who)}],
        }
        rows = {}
        given: list[dict[str, Any]] | None
        for table in metadata.sorted_tables:
            given = specific.get(table.name, [{}] if "person_id" in table.c else None)
            if table.name in WITHOUT_PEOPLE:
                continue
            assert given, f"{table.name} names no person: say here what it stores about one, and forget that"
            known: dict[str, Any] = {"person_id": who, "conversation_id": who}
            rows[table.name] = [row(table, who + 100 * at, self.mark, **known | each) for at, each in enumerate(given)]
        return rows


WITHOUT_PEOPLE = {
    "vectors": "texts of tools, by their hash",
    "claims": "chats in which something happened within the last minute",
    "processes": "machines and folders",
}
ANN, BEN = Someone(11, "annmark"), Someone(12, "benmark")


def store(connection: Connection, *people: Someone) -> None:
    for person in people:
        rows = person.rows()
        for table in metadata.sorted_tables:
            for each in rows.get(table.name, ()):
                connection.execute(insert(table), {name: value for name, value in each.items() if value is not None})


def mentions(connection: Connection, someone: Someone) -> dict[str, list[Any]]:
    """Rows that contain the person's mark, or a link to the person, by table."""
    found = {}
    for name, rows in everything(connection).items():
        column = "id" if name == "people" else "person_id"
        at = list(metadata.tables[name].c.keys()).index(column) if column in metadata.tables[name].c else None
        found[name] = [
            each for each in rows if someone.mark in str(each) or (at is not None and each[at] == someone.number)
        ]
    return {name: rows for name, rows in found.items() if rows}


@pytest.fixture
async def both(database: Database, clock: ManualClock, tmp_path: Path) -> Stores:
    stores = open_stores(database, clock, outgoing=tmp_path / "outgoing")
    await database.write(lambda c: store(c, ANN, BEN))
    return stores


async def test_nothing_is_left_in_any_table(both: Stores, database: Database) -> None:
    before = await database.read(lambda c: mentions(c, BEN))
    assert set(before) == set(metadata.tables) - set(WITHOUT_PEOPLE)
    assert set(await database.read(lambda c: mentions(c, ANN))) == set(before)
    await both.people.forget(ANN.number, str(ANN.user))
    assert await database.read(lambda c: mentions(c, ANN)) == {}
    assert await database.read(lambda c: mentions(c, BEN)) == before


async def test_the_audit_log_keeps_what_happened_without_the_account(both: Stores) -> None:
    await both.people.forget(ANN.number, str(ANN.user))
    entries = {(each.actor, each.action, each.subject, each.change) for each in await both.people.audit_log(9)}
    forgot = ("person 11", "forget", "person 11", "")
    linked = ("person 11", "link", "person 11 person 11", "with person 11")
    assert {forgot, linked} < entries
    assert len(entries) == 3


async def test_a_reply_that_is_being_sent_is_delivered_and_then_forgotten(both: Stores, database: Database) -> None:
    (entry,) = await both.outbox.add([OutboundMessage(ChatKey("telegram", "9"), "annmark", owner=ANN.number)])
    await both.outbox.attempting(entry.id)
    await both.people.forget(ANN.number, "t")
    still = await both.outbox.get(entry.id)
    assert still is not None
    assert (still.message.text, still.state) == ("annmark", "attempting")
    await both.outbox.sent(entry.id, "7")
    assert await database.read(lambda c: mentions(c, ANN)) == {}


async def test_the_content_of_files_is_deleted(both: Stores, tmp_path: Path) -> None:
    outgoing = tmp_path / "outgoing"
    file = OutgoingFile("a.txt", "text/plain", b"annmark")
    (kept,) = await both.actions.end(ANN.number, "done", files=[file])
    assert (outgoing / kept.key).exists()
    await both.people.forget(ANN.number, "t")
    assert list(outgoing.iterdir()) == []


async def test_a_group_in_which_others_wrote_stays(both: Stores, database: Database) -> None:
    group = await both.history.current(ChatKey("telegram", "-5"))
    values = {"conversation_id": group.id, "turn_id": "t", "role": "user", "text": "hello", "at": 0.0}
    rows = [values | {"person_id": each.number} for each in (ANN, BEN)]
    await database.write(lambda c: c.execute(insert(metadata.tables["messages"]), rows))
    await both.people.forget(ANN.number, "t")
    left = await database.read(
        lambda c: c.execute(select(conversations.c.id).order_by(conversations.c.id)).scalars().all()
    )
    assert left == sorted([BEN.number, group.id])
    assert await both.history.current(group.chat) == group
    found, _ = await both.history.messages(group.id, 10)
    assert [each.person_id for each in found] == [BEN.number]


async def test_a_stranger_who_comes_back_is_new(both: Stores) -> None:
    chat = ChatKey("telegram", ANN.user.user_id)
    await both.history.current(chat)
    await both.people.forget(ANN.number, "t")
    assert await both.people.find(ANN.user) is None
    again = await both.history.current(chat)
    assert again.id not in (ANN.number, BEN.number)
    await both.people.ask(Pairing(ANN.user, "Ann", "ABCDEFGH", 2e9), 3)
    assert [each.name for each in await both.people.waiting() if each.user == ANN.user] == ["Ann"]


async def test_the_database_file_holds_none_of_it(both: Stores, database: Database, database_url: str) -> None:
    """Not even in free pages."""
    if not database_url.startswith("sqlite"):
        return
    path = Path(database_url.partition("///")[2])
    await both.people.forget(ANN.number, str(ANN.user))
    connection = sqlite3.connect(path)
    assert connection.execute("pragma wal_checkpoint(truncate)").fetchone() == (0, 0, 0)
    connection.close()
    data = path.read_bytes()  # noqa: ASYNC240 - a small file
    assert b"annmark" not in data
    assert b"benmark" in data


async def test_columns_of_the_audit_log_and_the_outbox_are_known() -> None:
    """A new column may hold a person's name."""
    assert set(audit.c.keys()) == {"id", "at", "actor", "action", "detail"}
    assert {"platform", "chat_id", "thread_id", "payload", "picture"} <= set(outbox.c.keys())
