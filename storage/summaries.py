"""Summaries that replace the older messages of a conversation, and truncation of long messages."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, bindparam, func, insert, select, update

from routing.turn.truncation import emergency, shorten_arguments
from routing.types.history import StoredMessage, Summary
from storage.codec import CALLS
from storage.message_rows import END_OF_TIME, span, spoken
from storage.schema import messages, summaries

_HERE = (summaries.c.conversation_id == bindparam("conversation"), summaries.c.upto < bindparam("before"))
_NEWEST = select(summaries).where(*_HERE).order_by(summaries.c.id.desc()).limit(1)
_COUNT = select(func.count()).where(*_HERE, summaries.c.reason == "")


def newest(connection: Connection, conversation_id: int, before: int | None = None) -> Summary | None:
    """The newest summary that covers only messages with ids below `before`."""
    where = {"conversation": conversation_id, "before": END_OF_TIME if before is None else before}
    row = connection.execute(_NEWEST, where).one_or_none()
    if row is None:
        return None
    number = connection.execute(_COUNT, where).scalar_one()
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
