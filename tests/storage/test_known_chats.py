"""Known chats, on SQLite and PostgreSQL."""

from __future__ import annotations

from routing.types.messages import ChatKey, OutboundMessage
from storage.database import Database
from storage.history import SqlHistory
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.state import SqlChats
from tests.fakes import ManualClock
from tests.storage.samples import ANN, HOME, OTHER, TOPIC, message, record


async def test_chats_become_known_by_answers_or_by_an_owner(database: Database, clock: ManualClock) -> None:
    history, chats, ledger = SqlHistory(database, clock), SqlChats(database, clock), SqlLedger(database, clock)
    person = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "test")
    began = clock.now
    for chat, at in ((HOME, 0.0), (OTHER, 100.0), (TOPIC, 200.0), (ChatKey("discord", "9"), 200.0)):
        clock.now = began + at
        conversation = await history.current(chat)
        await ledger.finish([], [], record(conversation.id, person.id, "q", "a"))
    answered, late = ChatKey("telegram", "31"), ChatKey("telegram", "32", "4")
    await SqlOutbox(database, clock).add([OutboundMessage(late, "hi"), OutboundMessage(OTHER, "hi")])
    clock.now = began
    await SqlOutbox(database, clock).add([OutboundMessage(answered, "hi")])
    allowed = ChatKey("telegram", "55")
    await chats.set_allowed(allowed, True, "ann")
    await chats.set_allowed(ChatKey("telegram", "56"), False, "ann")
    await chats.set_allowed(ChatKey("discord", "57"), True, "ann")

    found = await chats.known("telegram", began + 100)
    assert sorted(found, key=str) == sorted([OTHER, TOPIC, late, allowed], key=str)
    assert set(await chats.known("telegram", began)) == {OTHER, TOPIC, late, allowed, HOME, answered}


async def test_a_chat_whose_first_question_waits_is_known(database: Database, clock: ManualClock) -> None:
    chats, inbox = SqlChats(database, clock), SqlInbox(database, clock)
    (entry,) = await inbox.accept([message("1", chat=TOPIC)])
    assert await chats.known("telegram", clock.now) == (TOPIC,)
    assert await chats.known("discord", 0.0) == ()
    await SqlLedger(database, clock).finish([entry.id], [])
    assert await chats.known("telegram", clock.now) == ()
