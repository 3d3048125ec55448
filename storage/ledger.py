"""The transaction that ends a turn."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, insert, update
from sqlalchemy.exc import IntegrityError

from routing.ports import Clock
from routing.stores import OutboxEntry, TurnRecord
from routing.types import OutboundMessage
from storage.codec import PICTURES, nano
from storage.database import Database
from storage.outbox import queue
from storage.schema import inbox, messages, usage

_DONE = update(inbox).where(inbox.c.id == bindparam("inbox_id")).values(state="done", payload="")
"""What is answered stays known by its number; its text is not kept twice."""
_SAY = insert(messages)
_SPEND = insert(usage)


class SqlLedger:
    """`routing.stores.Ledger`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def finish(
        self, inbox_ids: Sequence[int], replies: Sequence[OutboundMessage], record: TurnRecord | None = None
    ) -> tuple[OutboxEntry, ...]:
        now = self._clock()

        def step(connection: Connection) -> tuple[OutboxEntry, ...]:
            if inbox_ids:
                connection.execute(_DONE, [{"inbox_id": each} for each in inbox_ids])
            if record is not None:
                _remember(connection, record, now)
            return queue(connection, replies, now)

        try:
            return await self._database.write(step)
        except IntegrityError:  # the person was forgotten while the model answered
            return await self.finish(inbox_ids, replies)


def _remember(connection: Connection, record: TurnRecord, now: float) -> None:
    if record.replaces_from is not None:
        connection.execute(
            delete(messages).where(
                messages.c.conversation_id == record.conversation_id, messages.c.id >= record.replaces_from
            )
        )
    said = {
        "conversation_id": record.conversation_id,
        "person_id": record.person_id,
        "turn_id": record.turn_id,
        "at": now,
    }
    pictures = PICTURES.dump(record.pictures) if record.pictures else "[]"
    rows = [said | {"role": "user", "text": record.question, "pictures": pictures}]
    if record.answer:
        rows.append(said | {"role": "assistant", "text": record.answer, "pictures": "[]"})
    connection.execute(_SAY, rows)
    if record.model:
        connection.execute(_SPEND, _spent(record, now))


def _spent(record: TurnRecord, now: float) -> dict[str, object]:
    counted = record.usage
    return {
        "turn_id": record.turn_id,
        "person_id": record.person_id,
        "conversation_id": record.conversation_id,
        "tier": record.tier,
        "model": record.model,
        "input_tokens": counted.input_tokens if counted else None,
        "output_tokens": counted.output_tokens if counted else None,
        "cached_tokens": counted.cached_tokens if counted else None,
        "reasoning_tokens": counted.reasoning_tokens if counted else None,
        "cost_nano": nano(counted.cost) if counted else None,
        "seconds": record.seconds,
        "at": now,
    }
