"""Reads the messages of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from routing.types.history import StoredMessage
from storage.codec import CALLS, PICTURES
from storage.schema import messages

IN_CONVERSATION = messages.c.conversation_id == bindparam("conversation")
_BETWEEN = (IN_CONVERSATION, messages.c.id < bindparam("before"), messages.c.id > bindparam("after"))
_COUNT = select(func.count()).where(*_BETWEEN)
_NEWEST = select(messages).where(*_BETWEEN).order_by(messages.c.id.desc()).limit(bindparam("most"))
END_OF_TIME = 2**62


def span(conversation_id: int, limit: int, before: int | None = None, after: int = 0) -> dict[str, object]:
    """Parameters for the newest `limit` messages with ids above `after` and below `before`."""
    end = END_OF_TIME if before is None else before
    return {"conversation": conversation_id, "before": end, "after": after, "most": limit}


def spoken(connection: Connection, where: Mapping[str, object]) -> tuple[tuple[StoredMessage, ...], int]:
    """The messages of a span, oldest first, and their number without the limit."""
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
        person_id=row.person_id or 0,
        turn_id=row.turn_id,
    )
