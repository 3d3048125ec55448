"""Replies to deliver: stored with the turn they answer, sent afterwards, with their progress recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, String, Update, and_, bindparam, case, delete, func, insert, select, update

from routing.ports import Clock
from routing.types.lease import Lease
from routing.types.messages import OutboundMessage, OutgoingFile
from routing.types.queues import OutboxEntry
from storage.codec import FILES, OUTBOUND
from storage.database import Database
from storage.fence import Values, change_if_own, change_own
from storage.outgoing_files import OutgoingFileStore
from storage.schema import actions, claims, outbox, pieces
from storage.unreadable import set_aside

_WAITING = outbox.c.state.in_(("pending", "attempting"))
_UNSENT = select(outbox).where(_WAITING).order_by(outbox.c.id)
_THIS = outbox.c.id == bindparam("outbox_id")
_ONE = select(outbox).where(_THIS)
_INTERRUPTED = and_(outbox.c.state == "attempting", outbox.c.ambiguous == 0)
"""The process died during the previous attempt, which may have reached the platform."""
_ATTEMPTING = (
    update(outbox)
    .where(_THIS)
    .values(
        state="attempting", attempts=outbox.c.attempts + 1, ambiguous=case((_INTERRUPTED, 1), else_=outbox.c.ambiguous)
    )
)
_PIECE_SENT = (
    update(outbox)
    .where(_THIS)
    .values(state="pending", pieces_sent=bindparam("new_pieces"), message_id=bindparam("new_message"), ambiguous=0)
)
_SENT = (
    update(outbox)
    .where(_THIS)
    .values(state="sent", message_id=bindparam("new_message"), picture=None, payload=bindparam("new_payload"))
)
"""A sent reply is kept for its buttons; they do not need its picture."""
_AGAIN = (
    update(outbox)
    .where(_THIS)
    .values(
        state="pending",
        not_before=bindparam("new_time"),
        ambiguous=bindparam("new_ambiguous"),
        error=bindparam("new_error"),
    )
)
_DEAD = update(outbox).where(_THIS).values(state="dead", error=bindparam("new_error"), payload=bindparam("new_payload"))
_REDIRECT = (
    update(outbox)
    .where(_THIS)
    .values(
        {column: bindparam(f"to_{column}") for column in ("platform", "chat_id", "thread_id", "chat", "worker")}
        | {"payload": bindparam("new_payload"), "error": bindparam("new_error")}
        | {"state": "pending", "pieces_sent": 0, "ambiguous": 0, "message_id": ""}
    )
)
_PAYLOAD = select(outbox.c.payload).where(_THIS)
_ADD_PIECE = insert(pieces).from_select(
    ["outbox_id", "message_id"],
    select(outbox.c.id, bindparam("new_message", type_=String)).where(_THIS, outbox.c.turn_id != ""),
)
_QUEUE = insert(outbox)
_MY_CLAIM = select(claims.c.process_id).where(
    claims.c.chat == bindparam("claimed_chat"), claims.c.process_id == bindparam("own_id")
)
_QUEUE_OWN = _QUEUE.values(worker=_MY_CLAIM.scalar_subquery())
"""Without a worker if others have taken over and given the chat back: nobody would look for a reply of a process that
has ended."""
_OF_REPLIES = select(outbox.c.payload).where(_WAITING, outbox.c.payload.contains('"files":'))
_OF_ACTIONS = select(actions.c.files).where(actions.c.files != "[]")
"""An action keeps its files until it is deleted: if its answer is not stored yet, the answer will name them."""


class SqlOutbox:
    """Implements `routing.ports.OutboxStore`."""

    def __init__(
        self, database: Database, clock: Clock, files: OutgoingFileStore | None = None, lease: Lease | None = None
    ) -> None:
        """With a lease, only replies that this process sends can be changed."""
        self._database = database
        self._clock = clock
        self._files = files or OutgoingFileStore()
        self._lease = lease

    async def add(self, messages: Sequence[OutboundMessage]) -> tuple[OutboxEntry, ...]:
        messages = await self._files.keep_all(messages)
        return await self._database.write(lambda c: queue(c, messages, self._clock(), self._lease))

    async def with_files(self, message: OutboundMessage) -> OutboundMessage:
        if not message.files:
            return message
        return replace(message, files=tuple([await self._files.read(each) for each in message.files]))

    async def unsent(self) -> tuple[OutboxEntry, ...]:
        rows = await self._database.read(lambda c: c.execute(_UNSENT).all())
        return tuple(read_reply(row) for row in rows)

    async def set_aside(self) -> int:
        return await self._database.write(lambda c: set_aside(c, outbox, _WAITING, read_reply))

    async def get(self, outbox_id: int) -> OutboxEntry | None:
        row = await self._database.read(lambda c: c.execute(_ONE, {"outbox_id": outbox_id}).one_or_none())
        return None if row is None else read_reply(row)

    async def attempting(self, outbox_id: int) -> None:
        await self._change(_ATTEMPTING, outbox_id)

    async def piece_sent(self, outbox_id: int, pieces: int, message_id: str) -> None:
        await self._record_message(_PIECE_SENT, outbox_id, message_id, new_pieces=pieces)

    async def sent(self, outbox_id: int, message_id: str) -> None:
        await self._record_message(_SENT, outbox_id, message_id, ended=True)

    async def retry_later(self, outbox_id: int, not_before: float, ambiguous: int, error: str) -> None:
        await self._change(_AGAIN, outbox_id, new_time=not_before, new_ambiguous=ambiguous, new_error=error)

    async def dead(self, outbox_id: int, error: str) -> None:
        def step(connection: Connection) -> tuple[OutgoingFile, ...]:
            payload, files = _final_payload(connection, outbox_id)
            values = {"outbox_id": outbox_id, "new_error": error, "new_payload": payload}
            change_own(connection, _DEAD, [values], self._lease)
            return files

        await self._files.delete(await self._database.write(step))

    async def redirect(self, outbox_id: int, message: OutboundMessage, error: str) -> OutboxEntry:
        def step(connection: Connection) -> OutboxEntry:
            values = {
                "outbox_id": outbox_id,
                "new_payload": OUTBOUND.dump(_without_bytes(message)),
                "new_error": error,
                **_address(message, self._lease),
            }
            change_own(connection, _REDIRECT, [values], self._lease)
            row = connection.execute(_ONE, {"outbox_id": outbox_id}).one()
            return replace(read_reply(row), held=_held(message, self._lease))

        return await self._database.write(step)

    async def counts(self) -> dict[str, int]:
        unfinished = outbox.c.state.in_(("pending", "attempting", "dead"))
        query = select(outbox.c.state, func.count()).where(unfinished).group_by(outbox.c.state)
        rows = await self._database.read(lambda c: c.execute(query).all())
        return {state: count for state, count in rows}

    async def sweep(self, before: float) -> None:
        old = delete(outbox).where(outbox.c.state.in_(("sent", "dead")), outbox.c.created_at < before)
        await self._database.write(lambda c: c.execute(old))
        await self._files.sweep(await self._database.read(_files_in_use))

    async def _record_message(
        self, change: Update, outbox_id: int, message_id: str, ended: bool = False, **values: object
    ) -> None:
        """Record each message that shows part of an answer, so that a reaction to any of them rates the turn."""
        sent = {"outbox_id": outbox_id, "new_message": message_id}

        def step(connection: Connection) -> tuple[OutgoingFile, ...]:
            payload, files = _final_payload(connection, outbox_id) if ended else ("", ())
            row = sent | values | ({"new_payload": payload} if ended else {})
            if ended:  # it has arrived, whoever sends it again
                change_if_own(connection, change, row, self._lease)
            else:
                change_own(connection, change, [row], self._lease)
            connection.execute(_ADD_PIECE, sent)
            return files

        await self._files.delete(await self._database.write(step, urgent=not ended))

    async def _change(self, change: Update, outbox_id: int, **values: object) -> None:
        row = {"outbox_id": outbox_id} | values
        await self._database.write(lambda c: change_own(c, change, [row], self._lease))


def queue(
    connection: Connection,
    messages: Sequence[OutboundMessage],
    now: float,
    lease: Lease | None = None,
    turn_id: str = "",
    begun: bool = False,
) -> tuple[OutboxEntry, ...]:
    """Add replies within the caller's transaction. `turn_id` links those that show the turn's answer. `begun` also
    records the first attempt to send the first one. With a lease, this process sends those to the chats that it
    handles."""
    return tuple(_add(connection, each, now, lease, turn_id, begun and at == 0) for at, each in enumerate(messages))


def _add(
    connection: Connection, message: OutboundMessage, now: float, lease: Lease | None, turn_id: str, begun: bool
) -> OutboxEntry:
    held = _held(message, lease)
    begun = begun and held
    row: Values = {
        "platform": message.chat.platform,
        "chat_id": message.chat.chat_id,
        "thread_id": message.chat.thread_id,
        "chat": message.chat.claim,
        "payload": OUTBOUND.dump(_without_bytes(message)),
        "picture": message.picture.data if message.picture else None,
        "state": "attempting" if begun else "pending",
        "attempts": int(begun),
        "created_at": now,
        "turn_id": turn_id,
    }
    if lease is not None and held:
        own = {"claimed_chat": message.chat.claim, "own_id": lease.process_id}
        added = connection.execute(_QUEUE_OWN, row | own).inserted_primary_key
    else:
        added = connection.execute(_QUEUE, row).inserted_primary_key
    assert added is not None
    return OutboxEntry(added[0], message, "begun" if begun else "pending", int(begun), 0, 0, 0.0, "", now, held)


def _held(message: OutboundMessage, lease: Lease | None) -> bool:
    """Whether this process sends the message."""
    return lease is None or lease.holds(message.chat)


def _address(message: OutboundMessage, lease: Lease | None) -> Values:
    """The values of `_REDIRECT` for the message's chat."""
    chat = message.chat
    return {
        "to_platform": chat.platform,
        "to_chat_id": chat.chat_id,
        "to_thread_id": chat.thread_id,
        "to_chat": chat.claim,
        "to_worker": lease.process_id if lease is not None and lease.holds(chat) else None,
    }


def _final_payload(connection: Connection, outbox_id: int) -> tuple[str, tuple[OutgoingFile, ...]]:
    """The payload of a finished reply, without secret text and without the id of the message it answers or edits, which
    may be an interaction token. And the files that it no longer names."""
    payload = connection.execute(_PAYLOAD, {"outbox_id": outbox_id}).scalar_one_or_none()
    if payload is None:
        return "", ()
    message = OUTBOUND.load(payload)
    text = "" if message.secret else message.text
    return OUTBOUND.dump(replace(message, text=text, reply_to="", edits="", files=())), message.files


def _files_in_use(connection: Connection) -> frozenset[str]:
    """The keys of the files that wait in the outbox, and of those of confirmed actions."""
    waiting = [OUTBOUND.load(each).files for each in connection.execute(_OF_REPLIES).scalars()]
    done = [FILES.load(each) for each in connection.execute(_OF_ACTIONS).scalars()]
    return frozenset(each.key for files in (*waiting, *done) for each in files)


def _without_bytes(message: OutboundMessage) -> OutboundMessage:
    """The message as its payload stores it: a picture keeps its name, and its bytes are in a column."""
    return message if message.picture is None else replace(message, picture=replace(message.picture, data=b""))


def read_reply(row: Row[Any]) -> OutboxEntry:
    """The entry of a row of the table."""
    message = OUTBOUND.load(row.payload)
    if message.picture is not None:
        message = replace(message, picture=replace(message.picture, data=row.picture or b""))
    return OutboxEntry(
        id=row.id,
        message=message,
        state=row.state,
        attempts=row.attempts,
        pieces_sent=row.pieces_sent,
        ambiguous=row.ambiguous,
        not_before=row.not_before,
        message_id=row.message_id,
        created_at=row.created_at,
    )
