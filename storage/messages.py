"""Reads the messages of a conversation, and the summaries that replace older ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from routing.turn.truncation import emergency, shorten_arguments
from routing.types.history import StoredMessage, Summary
from storage.codec import CALLS, PICTURES
from storage.schema import messages, summaries

IN_CONVERSATION = messages.c.conversation_id == bindparam("conversation")
_BETWEEN = (IN_CONVERSATION, messages.c.id < bindparam("before"), messages.c.id > bindparam("after"))
_COUNT = select(func.count()).where(*_BETWEEN)
_NEWEST = select(messages).where(*_BETWEEN).order_by(messages.c.id.desc()).limit(bindparam("most"))
END_OF_TIME = 2**62
_EARLIER = (summaries.c.conversation_id == bindparam("conversation"), summaries.c.upto < bindparam("before"))
_NEWEST_SUMMARY = select(summaries).where(*_EARLIER).order_by(summaries.c.id.desc()).limit(1)
_SUMMARIES = select(func.count()).where(*_EARLIER, summaries.c.reason == "")


def span(conversation_id: int, limit: int, before: int | None = None, after: int = 0) -> dict[str, object]:
    """Parameters for the newest `limit` messages with ids above `after` and below `before`."""
    end = END_OF_TIME if before is None else before
    return {"conversation": conversation_id, "before": end, "after": after, "most": limit}


def spoken(connection: Connection, where: Mapping[str, object]) -> tuple[tuple[StoredMessage, ...], int]:
    """The messages between two ids, oldest first, and their number without the limit."""
    rows = connection.execute(_NEWEST, where).all()
    total = len(rows) if len(rows) != where["most"] else connection.execute(_COUNT, where).scalar_one()
    return tuple(message(row) for row in reversed(rows)), int(total)


def message(row: Row[Any]) -> StoredMessage:
    return StoredMessage(
        id=row.id,
        role=row.role,
        text=row.text,
        at=row.at,
        pictures=() if row.pictures == "[]" else PICTURES.load(row.pictures),
        calls=CALLS.load(row.calls) if row.calls else (),
        model=row.model,
        thinking=row.thinking,
        call_id=row.call_id,
        tool=row.tool,
        source=row.source,
        own_words=row.own_words,
        person_id=row.person_id or 0,
        turn_id=row.turn_id,
    )


def newest(connection: Connection, conversation_id: int, before: int | None = None) -> Summary | None:
    """The newest summary that covers only messages with ids below `before`."""
    where = {"conversation": conversation_id, "before": END_OF_TIME if before is None else before}
    row = connection.execute(_NEWEST_SUMMARY, where).one_or_none()
    if row is None:
        return None
    number = connection.execute(_SUMMARIES, where).scalar_one()
    return Summary(row.upto, row.text, row.covers, row.reason, number, row.person_id or 0)


def keep(connection: Connection, conversation_id: int, summary: Summary, now: float) -> None:
    """Store a summary of older messages."""
    row = {
        "conversation_id": conversation_id,
        "upto": summary.upto,
        "covers": summary.covers,
        "text": summary.text,
        "reason": summary.reason,
        "at": now,
        "person_id": summary.reader or None,
    }
    connection.execute(insert(summaries), row)


def unsummarised(
    connection: Connection, conversation_id: int, limit: int, before: int | None
) -> tuple[Summary | None, tuple[StoredMessage, ...], int]:
    """The newest summary, and the messages after it."""
    summary = newest(connection, conversation_id, before)
    after = summary.upto if summary else 0
    found, total = spoken(connection, span(conversation_id, limit, before, after))
    return summary, found, total


def shorten(connection: Connection, conversation_id: int, most_chars: int) -> None:
    """Truncate texts longer than `most_chars` characters; ids and roles stay the same."""
    here = messages.c.conversation_id == conversation_id
    long = (func.length(messages.c.text) > most_chars) | (func.length(messages.c.calls) > most_chars)
    for row in connection.execute(select(messages).where(here, long)).all():
        calls = CALLS.load(row.calls) if row.calls else ()
        brief = tuple(replace(call, arguments=shorten_arguments(call.arguments, most_chars)) for call in calls)
        values = {"text": emergency(row.text, most_chars), "calls": CALLS.dump(brief) if brief else ""}
        connection.execute(update(messages).where(messages.c.id == row.id).values(**values))
