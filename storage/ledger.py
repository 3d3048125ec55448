"""The transaction that ends a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from routing.ports import Clock
from routing.types.history import StoredMessage, TurnRecord
from routing.types.lease import Lease
from routing.types.llm import ChatMessage
from routing.types.messages import ChatKey, OutboundMessage
from routing.types.queues import OutboxEntry
from routing.types.usage import CallRecord
from storage.codec import CALLS, PICTURES, nano
from storage.conversation_cache import ConversationCache
from storage.database import Database
from storage.fence import change_own
from storage.outbox import queue
from storage.outgoing_files import OutgoingFileStore
from storage.people.forgetting import ADOPTION
from storage.schema import inbox, messages, state, summaries, usage
from storage.usage.hours import add_usage
from storage.usage.turns import keep

_MARK_DONE = (
    update(inbox).where(inbox.c.id == bindparam("inbox_id")).values(state="done", payload="", fixed="", chat="")
)
"""A finished message keeps its id, so duplicates are recognised. Its text is in `messages`."""
_INSERT_MESSAGES = insert(messages).returning(messages.c.id, sort_by_parameter_order=True)
_INSERT_USAGE = insert(usage)


class SqlLedger:
    """Implements `routing.ports.Ledger`."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        current_id: Callable[[int], int] = lambda each: each,
        at_once: Callable[[ChatKey], bool] = lambda chat: False,
        conversations: ConversationCache | None = None,
        files: OutgoingFileStore | None = None,
        lease: Lease | None = None,
    ) -> None:
        """`current_id` returns a person's id after all merges. `at_once` tells whether a reply to this chat will be
        sent as soon as it is stored. `conversations` is the cache to which the turn's messages are added. `files` holds
        the files of replies. With a lease, only turns of messages that this process handles are stored."""
        self._database = database
        self._clock = clock
        self._current_id = current_id
        self._at_once = at_once
        self._conversations = conversations
        self._files = files or OutgoingFileStore()
        self._lease = lease

    async def finish(
        self, inbox_ids: Sequence[int], replies: Sequence[OutboundMessage], record: TurnRecord | None = None
    ) -> tuple[OutboxEntry, ...]:
        now = self._clock()
        replies = await self._files.keep_all(replies)
        replies = [replace(each, owner=self._current_id(each.owner)) for each in replies]
        begun = bool(replies) and self._at_once(replies[0].chat)
        if record is not None:
            record = replace(record, person_id=self._current_id(record.person_id))

        def step(connection: Connection) -> tuple[tuple[OutboxEntry, ...], Sequence[int]]:
            if inbox_ids:
                change_own(connection, _MARK_DONE, [{"inbox_id": each} for each in inbox_ids], self._lease)
            added = () if record is None else _write_turn(connection, record, now)
            answered = record.turn_id if record is not None and record.facts else ""
            return queue(connection, replies, now, self._lease, answered, begun), added

        changing: AbstractContextManager[None] = nullcontext()
        if record is not None and self._conversations is not None:
            changing = self._conversations.changing(record.conversation_id)
        try:
            with changing:
                queued, added = await self._database.write(step)
        except IntegrityError:
            if record is None:
                raise
            person_id = await self._linked_to(record.person_id)
            if person_id is None:
                return await self.finish(inbox_ids, replies)
            owned = [replace(each, owner=person_id) if each.owner == record.person_id else each for each in replies]
            return await self.finish(inbox_ids, owned, replace(record, person_id=person_id))
        if record is not None and self._conversations is not None:
            if record.replaces_from is None:
                self._conversations.add(record.conversation_id, _stored(record, added, now))
            else:
                self._conversations.drop(record.conversation_id)
        return queued

    async def _linked_to(self, person_id: int) -> int | None:
        """The person into whom this person was merged during the turn; None if they were forgotten."""
        merged = select(state.c.value).where(state.c.key == f"{ADOPTION}{person_id}")
        found = await self._database.read(lambda c: c.execute(merged).scalar_one_or_none())
        current = int(found) if found is not None else self._current_id(person_id)
        return None if current == person_id else current


def _stored(record: TurnRecord, ids: Sequence[int], now: float) -> tuple[StoredMessage, ...]:
    """The messages of a turn as a later read returns them."""
    if not ids:
        return ()
    person, turn = record.person_id, record.turn_id
    asked = StoredMessage(
        ids[0],
        "user",
        record.question,
        now,
        record.pictures,
        source=record.source,
        own_words=record.own_words,
        person_id=person,
        turn_id=turn,
    )
    answered = (
        StoredMessage(
            message_id,
            each.role,
            each.text,
            now,
            calls=each.calls,
            model=each.made_by,
            thinking=each.thinking,
            call_id=each.call_id,
            tool=each.tool,
            person_id=person,
            turn_id=turn,
        )
        for message_id, each in zip(ids[1:], record.messages, strict=True)
    )
    return (asked, *answered)


def _write_turn(connection: Connection, record: TurnRecord, now: float) -> Sequence[int]:
    """Returns the ids of the messages."""
    ids: Sequence[int] = ()
    if record.replaces_from is not None:
        _delete_replaced(connection, record.conversation_id, record.replaces_from)
    columns: dict[str, object] = {
        "conversation_id": record.conversation_id,
        "person_id": record.person_id,
        "turn_id": record.turn_id,
        "at": now,
    }
    pictures = PICTURES.dump(record.pictures) if record.pictures else "[]"
    asked: dict[str, object] = {
        "role": "user",
        "text": record.question,
        "pictures": pictures,
        "source": record.source,
        "own_words": record.own_words,
    }
    if record.question or record.pictures:
        rows = [columns | _EMPTY_MESSAGE | row for row in (asked, *map(_message_row, record.messages))]
        ids = connection.execute(_INSERT_MESSAGES, rows).scalars().all()
    calls = [_usage_row(record, call, now) for call in record.calls if not call.stored]
    if calls:
        connection.execute(_INSERT_USAGE, calls)
        add_usage(connection, calls)
    if record.facts is not None:
        keep(connection, record, record.facts, now)
    return ids


def _delete_replaced(connection: Connection, conversation_id: int, first: int) -> None:
    """Delete the messages that a retry replaces, and the summaries that cover any of them."""
    mine = messages.c.conversation_id == conversation_id
    connection.execute(delete(messages).where(mine, messages.c.id >= first))
    here = summaries.c.conversation_id == conversation_id
    connection.execute(delete(summaries).where(here, summaries.c.upto >= first))


_EMPTY_MESSAGE: dict[str, object] = {
    "pictures": "[]",
    "calls": "",
    "model": "",
    "thinking": "",
    "call_id": "",
    "tool": "",
    "source": "",
    "own_words": "",
}


def _message_row(message: ChatMessage) -> dict[str, object]:
    return {
        "role": message.role,
        "text": message.text,
        "calls": CALLS.dump(message.calls) if message.calls else "",
        "model": message.made_by,
        "thinking": message.thinking,
        "call_id": message.call_id,
        "tool": message.tool,
    }


def _usage_row(record: TurnRecord, call: CallRecord, now: float) -> dict[str, object]:
    counted = call.usage
    return {
        "turn_id": record.turn_id,
        "person_id": record.person_id,
        "conversation_id": record.conversation_id,
        "tier": call.tier,
        "model": call.model,
        "input_tokens": counted.input_tokens if counted else None,
        "output_tokens": counted.output_tokens if counted else None,
        "cached_tokens": counted.cached_tokens if counted else None,
        "cost_nano": nano(counted.cost) if counted else None,
        "held_nano": nano(call.charged),
        "seconds": call.seconds,
        "at": now,
    }
