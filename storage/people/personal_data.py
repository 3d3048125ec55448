"""What is stored about one person, for their export."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, Connection, Float, Table, select

from routing.types.history import Conversation, StoredMessage
from routing.types.messages import ChatKey
from storage.codec import dollars
from storage.database import Database
from storage.messages import message
from storage.schema import (
    actions,
    allowances,
    budgets,
    conversations,
    examples,
    facts,
    identities,
    messages,
    overrides,
    people,
    preferences,
    schedules,
    service_accounts,
    turns,
    usage,
)

EXPORTED: Mapping[str, Table] = {
    "person": people,
    "accounts": identities,
    "settings": preferences,
    "models": overrides,
    "limits": budgets,
    "memory": facts,
    "learned": examples,
    "reminders": schedules,
    "connected-accounts": service_accounts,
    "allowed-tools": allowances,
    "confirmed-tools": actions,
    "usage": usage,
    "turns": turns,
}
"""The tables of an export, by its name for them; conversations are exported apart."""
NOT_EXPORTED: Mapping[str, str] = {
    "messages": "exported as conversations",
    "summaries": "repeat messages",
    "usage_hours": "sums of usage",
    "turn_hours": "sums of turns",
    "links": "hashes of codes that are valid for minutes",
    "connect_steps": "unfinished steps, which may hold a password",
    "connect_hints": "when a hint was shown",
}
"""Tables with rows of people that are not in an export, and why."""
_INTERNAL = {"sealed", "digest", "press", "version"}
PAGE = 500


class SqlPersonalData:
    """Implements `routing.ports.PersonalDataStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def names(self) -> tuple[str, ...]:
        return tuple(EXPORTED)

    async def rows(self, person_id: int, name: str, after: int = 0) -> tuple[Mapping[str, Any], ...]:
        return await self._database.read(lambda c: _rows(c, person_id, EXPORTED[name], after))

    async def conversations(self, person_id: int) -> tuple[Conversation, ...]:
        wrote = select(messages.c.conversation_id).where(messages.c.person_id == person_id)
        query = select(conversations).where(conversations.c.id.in_(wrote)).order_by(conversations.c.id)
        rows = await self._database.read(lambda c: c.execute(query).all())
        return tuple(
            Conversation(row.id, ChatKey(row.platform, row.chat_id, row.thread_id), row.started_at) for row in rows
        )

    async def messages(self, person_id: int, conversation_id: int, after: int = 0) -> tuple[StoredMessage, ...]:
        here = (messages.c.conversation_id == conversation_id, messages.c.id > after)
        query = select(messages).where(*here, messages.c.person_id == person_id).order_by(messages.c.id).limit(PAGE)
        return await self._database.read(lambda c: tuple(message(row) for row in c.execute(query)))


def _rows(connection: Connection, person_id: int, table: Table, after: int) -> tuple[Mapping[str, Any], ...]:
    query = select(table).where((table.c.id if table is people else table.c.person_id) == person_id)
    if "id" in table.c:
        query = query.where(table.c.id > after).order_by(table.c.id).limit(PAGE)
    elif after:
        return ()
    columns = [column for column in table.c if column.name not in _INTERNAL]
    rows = connection.execute(query).mappings().all()
    return tuple(dict(_readable(column, row[column.name]) for column in columns) for row in rows)


def _readable(column: Column[Any], value: Any) -> tuple[str, Any]:
    """A column as people read it: times in UTC, money in dollars, bytes in base64."""
    if isinstance(value, bytes):
        return column.name, b64encode(value).decode()
    if value is not None and column.name.endswith("_nano"):
        return f"{column.name.removesuffix('_nano')}_usd", f"{dollars(value):f}"
    if value and isinstance(column.type, Float) and (column.name == "at" or column.name.endswith("_at")):
        return column.name, datetime.fromtimestamp(value, UTC).isoformat()
    return column.name, value
