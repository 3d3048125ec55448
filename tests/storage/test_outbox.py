"""The outbox, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from routing.types import Button, OutboundMessage
from storage.database import Database
from storage.outbox import SqlOutbox
from tests.storage.samples import HOME, TOPIC, Hand


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
