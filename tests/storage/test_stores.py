"""The contracts of the stores, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import func, select

from routing.calls import ChatMessage, Usage
from routing.outcome import CallRecord
from routing.records import TurnRecord
from routing.stores import Pairing
from routing.types import (
    Attachment,
    Button,
    ChatKey,
    InboundMessage,
    OutboundMessage,
    Override,
    PersonSettings,
    Preferences,
    Press,
    UserKey,
)
from storage.database import Database
from storage.history import SqlHistory
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from storage.outbox import SqlOutbox
from storage.people import SqlPeople
from storage.preferences import SqlPreferences
from storage.schema import metadata
from storage.state import SqlChats, SqlState
from storage.usage import SqlUsage

ANN, BEN = UserKey("telegram", "1"), UserKey("telegram", "2")
HOME, OTHER, TOPIC = ChatKey("telegram", "1"), ChatKey("telegram", "9"), ChatKey("telegram", "9", "7")
PHOTO = Attachment("image", "a.png", "image/png", 5, "telegram:abc")


class Hand:
    """A clock moved by hand."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


def message(update: str, text: str = "hi", chat: ChatKey = HOME) -> InboundMessage:
    return InboundMessage(ANN, chat, "42", update, text, 5.0, attachments=(PHOTO,), press=Press("q", "m"))


def record(conversation: int, person: int, question: str, answer: str = "", **more: object) -> TurnRecord:
    spent: dict[str, object] = {"tier": "smart", "model": "openai/m", "usage": None, "seconds": 1.5}
    spent |= {name: more.pop(name) for name in tuple(more) if name in spent}
    said = (ChatMessage("assistant", answer, made_by="openai/m"),) if answer else ()
    calls = (CallRecord(**spent),) if answer else ()  # type: ignore[arg-type]
    return TurnRecord("t", conversation, person, question, said=said, calls=calls, **more)  # type: ignore[arg-type]


async def test_preferences_begin_empty_and_each_thing_is_set_by_itself(database: Database, clock: Hand) -> None:
    store = SqlPreferences(database)
    people = SqlPeople(database, store, clock)
    ann, ben = await people.admit(ANN, "Ann", "user", "t"), await people.admit(BEN, "Ben", "user", "t")
    assert await store.get(ann.id) == Preferences() and await store.settings(ann.id) == PersonSettings()
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
    assert found is not None and found.language == "de"
    assert await store.clear_override(ann.id, "deep") is True
    assert await store.clear_override(ann.id, "deep") is False
    assert (await store.get(ann.id)) == Preferences("smart", True, {})
    await store.set_settings(ann.id, PersonSettings())
    assert await SqlPreferences(database).settings(ann.id) == PersonSettings()


async def test_people_are_admitted_changed_and_found(database: Database, clock: Hand) -> None:
    people = SqlPeople(database, SqlPreferences(database), clock)
    assert await people.find(ANN) is None
    ann = await people.admit(ANN, "Ann", "user", "boss")
    assert (await people.admit(ANN, "", "owner", "boss")).id == ann.id
    await people.admit(BEN, "B" * 300, "guest", "boss")
    assert await people.owners() == (ANN,)
    everyone = await people.everyone()
    assert [(p.role, len(p.name), accounts) for p, accounts in everyone] == [
        ("owner", 3, (ANN,)), ("guest", 200, (BEN,)),
    ]  # fmt: skip
    assert [row[2:] for row in await people.journal(2)] == [
        ("admit", "telegram:2 as guest"), ("admit", "telegram:1 as owner"),
    ]  # fmt: skip


async def test_pairing_keeps_one_request_a_person_a_few_in_all_and_not_for_long(
    database: Database, clock: Hand
) -> None:
    people = SqlPeople(database, SqlPreferences(database), clock)

    def asks(number: int, code: str) -> Pairing:
        return Pairing(UserKey("telegram", str(number)), "x", code, clock.now + 600)

    first = asks(1, "AAAAAAAA")
    assert await people.ask(first, 2) is first
    assert await people.ask(asks(1, "BBBBBBBB"), 2) == first
    await people.ask(asks(2, "CCCCCCCC"), 2)
    assert await people.ask(asks(3, "DDDDDDDD"), 2) is None
    assert [each.code for each in await people.waiting()] == ["AAAAAAAA", "CCCCCCCC"]
    assert await people.approve("ZZZZZZZZ", "boss") is None
    approved = await people.approve("AAAAAAAA", "boss")
    assert approved == first and await people.approve("AAAAAAAA", "boss") is None
    admitted = await people.find(first.user)
    assert admitted is not None and admitted.role == "user"
    clock.now += 601
    assert await people.waiting() == () and await people.approve("CCCCCCCC", "boss") is None
    assert await people.ask(asks(3, "DDDDDDDD"), 2) is not None


async def test_a_forgotten_person_leaves_nothing_but_the_record(database: Database, clock: Hand) -> None:
    people, ledger, history = (
        SqlPeople(database, SqlPreferences(database), clock),
        SqlLedger(database, clock),
        SqlHistory(database, clock),
    )
    outbox, preferences = SqlOutbox(database, clock), SqlPreferences(database)
    ann, ben = await people.admit(ANN, "Ann", "user", "t"), await people.admit(BEN, "Ben", "user", "t")
    here = await history.current(OTHER)
    for person in (ann, ben):
        reply = OutboundMessage(OTHER, f"to {person.name}", owner=person.id)
        await ledger.finish([], [reply], record(here.id, person.id, f"by {person.name}", "yes"))
        await preferences.set_tier(person.id, "deep", True)
    for entry in await outbox.unsent():
        await outbox.sent(entry.id, "1")
    await people.forget(ann.id, "boss")
    assert await people.find(ANN) is None and await people.find(BEN) == ben
    assert [m.text for m in (await history.messages(here.id, 10))[0]] == ["by Ben", "yes"]
    assert len(await SqlUsage(database).by_model(person_id=ann.id)) == 0
    left = await database.read(lambda c: str([c.execute(select(t)).all() for t in metadata.tables.values()]))
    assert "by Ann" not in left and "to Ann" not in left and "to Ben" in left
    await ledger.finish([], [], record(here.id, ann.id, "late", "too late"))
    assert len((await history.messages(here.id, 10))[0]) == 2
    assert (await people.admit(ANN, "Ann", "user", "t")).id > ben.id


async def test_history_has_one_conversation_a_place_and_goes_back(database: Database, clock: Hand) -> None:
    history, ledger = SqlHistory(database, clock), SqlLedger(database, clock)
    ann = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "t")
    first = await history.current(HOME)
    assert (await history.current(HOME)).id == first.id
    assert len({first.id, (await history.current(OTHER)).id, (await history.current(TOPIC)).id}) == 3
    assert await history.recent(HOME, 5) == ()
    await ledger.finish([], [], record(first.id, ann.id, "one", "eins", pictures=(PHOTO,)))
    second = await history.begin(HOME)
    assert second.id != first.id and (await SqlHistory(database, clock).current(HOME)).id == second.id
    await ledger.finish([], [], record(second.id, ann.id, "two"))
    recent = await history.recent(HOME, 5)
    assert [(each.id, each.messages, each.title) for each in recent] == [(second.id, 1, "two"), (first.id, 2, "one")]
    await history.resume(recent[1])
    assert (await history.current(HOME)).id == (await SqlHistory(database, clock).current(HOME)).id == first.id
    messages, total = await history.messages(first.id, 10)
    assert [(m.role, m.text, m.pictures) for m in messages] == [("user", "one", (PHOTO,)), ("assistant", "eins", ())]
    assert total == 2


async def test_history_is_read_from_its_end_and_before_a_message(database: Database, clock: Hand) -> None:
    history, ledger = SqlHistory(database, clock), SqlLedger(database, clock)
    ann = await SqlPeople(database, SqlPreferences(database), clock).admit(ANN, "Ann", "user", "t")
    here = await history.current(HOME)
    assert await history.last_question(here.id) is None
    for n in range(5):
        await ledger.finish([], [], record(here.id, ann.id, f"q{n}", f"a{n}"))
    messages, total = await history.messages(here.id, 3)
    assert [m.text for m in messages] == ["a3", "q4", "a4"] and total == 10
    last = await history.last_question(here.id)
    assert last is not None and last.text == "q4"
    before, total = await history.messages(here.id, 3, last.id)
    assert [m.text for m in before] == ["a2", "q3", "a3"] and total == 8
    await ledger.finish([], [], record(here.id, ann.id, "q4", "better", replaces_from=last.id))
    assert [m.text for m in (await history.messages(here.id, 3))[0]] == ["a3", "q4", "better"]


async def test_the_inbox_keeps_each_update_once_and_in_order(database: Database, clock: Hand) -> None:
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


async def test_the_ledger_does_all_or_nothing(database: Database, clock: Hand) -> None:
    inbox, outbox, history = SqlInbox(database, clock), SqlOutbox(database, clock), SqlHistory(database, clock)
    people = SqlPeople(database, SqlPreferences(database), clock)
    ann = await people.admit(ANN, "Ann", "user", "t")
    (entry,) = await inbox.accept([message("1")])
    here = await history.current(HOME)
    broken = record(here.id, ann.id, "q", "a", seconds="not a number")
    with pytest.raises(Exception):  # noqa: B017 — each driver has its own
        await SqlLedger(database, clock).finish([entry.id], [OutboundMessage(HOME, "reply")], broken)
    assert [e.id for e in await inbox.unfinished()] == [entry.id]
    assert await outbox.unsent() == () and (await history.messages(here.id, 5))[1] == 0


async def test_the_outbox_goes_through_its_states(database: Database, clock: Hand) -> None:
    outbox = SqlOutbox(database, clock)
    button = ((Button("✅", "/tier deep"),),)
    await outbox.add([OutboundMessage(HOME, "one", owner=1, buttons=button), OutboundMessage(TOPIC, "two", edits="5")])
    one, two = await outbox.unsent()
    assert one.message.buttons == button and two.message == OutboundMessage(TOPIC, "two", edits="5")
    assert (one.state, one.attempts, one.created_at) == ("pending", 0, clock.now)
    await outbox.attempting(one.id)
    await outbox.piece_sent(one.id, 1, "m1")
    again = await outbox.get(one.id)
    assert again is not None and (again.state, again.attempts, again.pieces_sent) == ("pending", 1, 1)
    await outbox.again(one.id, clock.now + 30, True, "time-out")
    later = next(iter(await outbox.unsent()))
    assert (later.id, later.state, later.not_before) == (one.id, "attempting", clock.now + 30)
    await outbox.sent(one.id, "m2")
    await outbox.dead(two.id, "blocked")
    assert await outbox.unsent() == () and await outbox.counts() == {"dead": 1}
    assert await outbox.get(10**9) is None
    await outbox.sweep(clock.now + 1)
    assert await outbox.get(one.id) is None
    (three,) = await outbox.add([OutboundMessage(HOME, "three")])
    assert three.id > two.id, "buttons name replies by id: one given out again would answer for another"
    assert await outbox.unsent() == (three,)


async def test_usage_is_added_up_by_model_person_conversation_and_time(database: Database, clock: Hand) -> None:
    people, ledger, usage = (
        SqlPeople(database, SqlPreferences(database), clock),
        SqlLedger(database, clock),
        SqlUsage(database),
    )
    history = SqlHistory(database, clock)
    ann, ben = await people.admit(ANN, "Ann", "user", "t"), await people.admit(BEN, "Ben", "user", "t")
    one, two = (await history.current(HOME)).id, (await history.current(OTHER)).id
    spent = Usage(100, 20, 50, 5, Decimal("0.000000123"))
    await ledger.finish([], [], record(one, ann.id, "q", "a", usage=spent))
    await ledger.finish([], [], record(one, ann.id, "q", "a", usage=Usage(1, 1)))
    await ledger.finish([], [], record(two, ben.id, "q", "a", seconds=2.5))
    await ledger.finish([], [], record(two, ben.id, "q", "a", model="x/y", usage=spent))
    await ledger.finish([], [], record(two, ben.id, "failed"))
    everything = await usage.by_model()
    assert [(s.model, s.calls, s.input_tokens, s.output_tokens, s.cached_tokens, s.unknown) for s in everything] == [
        ("openai/m", 3, 101, 21, 50, 2), ("x/y", 1, 100, 20, 50, 0),
    ]  # fmt: skip
    assert everything[0].cost == Decimal("0.000000123")
    assert [s.calls for s in await usage.by_model(person_id=ann.id)] == [2]
    assert [s.calls for s in await usage.by_model(conversation_id=two)] == [1, 1]
    assert await usage.by_model(since=clock.now + 1) == ()
    assert await usage.seconds("openai/m", 2) == (2.5, 1.5)


async def test_small_facts_and_chats(database: Database, clock: Hand) -> None:
    state, chats, history = SqlState(database), SqlChats(database, clock), SqlHistory(database, clock)
    assert await state.get("x") is None
    for value in ("1", "2", None, None):
        await state.put("x", value)
        assert await state.get("x") == value
    assert (await chats.streaming(OTHER), await chats.allowed(OTHER)) == (True, False)
    await chats.set_streaming(OTHER, False)
    await chats.set_allowed(OTHER, True, "boss")
    for fresh in (chats, SqlChats(database, clock)):
        assert (await fresh.streaming(TOPIC), await fresh.allowed(TOPIC)) == (False, True)
        assert (await fresh.streaming(HOME), await fresh.allowed(HOME)) == (True, False)
    before = await history.current(OTHER)
    await chats.moved(OTHER, "-100")
    moved = ChatKey("telegram", "-100")
    assert await chats.allowed(moved) and not await chats.allowed(OTHER)
    assert (await SqlHistory(database, clock).current(moved)).id == before.id


async def test_texts_keep_every_sign_and_large_numbers(database: Database, clock: Hand) -> None:
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


async def test_every_table_is_there_and_the_size_is_known(database: Database) -> None:
    def count(c: object) -> int:
        return sum(c.execute(select(func.count()).select_from(t)).scalar_one() for t in metadata.tables.values())  # type: ignore[attr-defined]

    assert await database.read(count) == 0
    assert await database.size_bytes() > 10_000
