"""The outbox, on SQLite and PostgreSQL."""

from __future__ import annotations

from routing.types.messages import Button, Document, OutboundMessage, Picture
from storage.database import Database
from storage.outbox import SqlOutbox
from tests.fakes import ManualClock
from tests.storage.samples import HOME, TOPIC


async def test_outbox_state_transitions(database: Database, clock: ManualClock) -> None:
    outbox = SqlOutbox(database, clock)
    button = ((Button("✅", "/tier deep"),),)
    await outbox.add([OutboundMessage(HOME, "one", owner=1, buttons=button), OutboundMessage(TOPIC, "two", edits="5")])
    one, two = await outbox.unsent()
    assert one.message.buttons == button
    assert two.message == OutboundMessage(TOPIC, "two", edits="5")
    assert (one.state, one.attempts, one.created_at) == ("pending", 0, clock.now)
    await outbox.attempting(one.id)
    await outbox.piece_sent(one.id, 1, "m1")
    again = await outbox.get(one.id)
    assert again is not None
    assert (again.state, again.attempts, again.pieces_sent) == ("pending", 1, 1)
    await outbox.retry_later(one.id, clock.now + 30, 1, "time-out")
    later = next(iter(await outbox.unsent()))
    assert (later.id, later.state, later.ambiguous, later.not_before) == (one.id, "pending", 1, clock.now + 30)
    await outbox.sent(one.id, "m2")
    await outbox.dead(two.id, "blocked")
    assert await outbox.unsent() == ()
    assert await outbox.counts() == {"dead": 1}
    assert await outbox.get(10**9) is None
    await outbox.sweep(clock.now + 1)
    assert await outbox.get(one.id) is None
    (three,) = await outbox.add([OutboundMessage(HOME, "three")])
    assert three.id > two.id, "buttons refer to replies by id, so a reused id would answer for another reply"
    assert await outbox.unsent() == (three,)


async def test_possible_deliveries_are_remembered_until_confirmed(database: Database, clock: ManualClock) -> None:
    outbox = SqlOutbox(database, clock)
    (added,) = await outbox.add([OutboundMessage(HOME, "one")])

    async def ambiguous() -> int:
        entry = await outbox.get(added.id)
        assert entry is not None
        return entry.ambiguous

    await outbox.attempting(added.id)
    assert await ambiguous() == 0
    await outbox.attempting(added.id)  # the process died in between
    assert await ambiguous() == 1
    await outbox.retry_later(added.id, clock.now, 2, "time-out")
    await outbox.attempting(added.id)
    await outbox.attempting(added.id)
    assert await ambiguous() == 2, "a kill does not count as a failed attempt"
    await outbox.piece_sent(added.id, 1, "m1")
    assert await ambiguous() == 0


async def test_a_picture_is_stored_byte_for_byte_until_sent(database: Database, clock: ManualClock) -> None:
    outbox = SqlOutbox(database, clock)
    picture = Picture("usage.png", bytes(range(256)) * 300)
    message = OutboundMessage(HOME, "Last week", document=Document("a.md", "x"), picture=picture)
    (added, plain) = await outbox.add([message, OutboundMessage(HOME, "words")])
    assert added.message == message
    assert [each.message for each in await outbox.unsent()] == [message, plain.message]
    await outbox.piece_sent(added.id, 1, "m1")
    await outbox.retry_later(added.id, clock.now, 1, "time-out")
    again = await outbox.get(added.id)
    assert again is not None
    assert again.message == message
    await outbox.sent(added.id, "m2")
    done = await outbox.get(added.id)
    assert done is not None
    assert done.message.picture == Picture("usage.png", b""), "a sent picture is deleted"
