"""Deletes data older than RETENTION_DAYS, in small batches."""

from __future__ import annotations

import asyncio
from functools import partial

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, select

from storage.conversation_cache import ConversationCache
from storage.database import Database
from storage.examples import SqlExamples
from storage.schema import conversations, examples, messages, summaries, turn_hours, turns, usage, usage_hours
from storage.usage.hours import HOUR

BATCH = 500
"""Rows per transaction, which takes about 5 ms."""
PAUSE_SECONDS = 0.02
"""Pause between two transactions, in which turns can use the database."""
BUDGET_SECONDS = 32 * 86_400.0
"""Usage is kept for at least this long, because monthly budgets count it."""
_EMPTY = ~exists().where(messages.c.conversation_id == conversations.c.id)


class SqlRetention:
    """Deletes old messages, summaries, turns, examples and usage."""

    def __init__(
        self,
        database: Database,
        conversations: ConversationCache | None = None,
        examples: SqlExamples | None = None,
    ) -> None:
        """`conversations` is the cache of messages, which is cleared after each batch, as that of `examples`."""
        self._database = database
        self._conversations = conversations
        self._examples = examples

    async def prune(self, before: float, now: float) -> int:
        """Delete messages, summaries, turns and examples older than `before`, and usage that no budget counts any more.
        Both times are Unix seconds. Returns the number of deleted rows."""
        hour = int(min(before, now - BUDGET_SECONDS) // HOUR)
        spent = float(hour * HOUR)
        # A summary names the last message it covers, and ids start again once all messages are deleted.
        recent = exists().where(messages.c.conversation_id == summaries.c.conversation_id, messages.c.at >= before)
        deleted = await self._oldest(summaries, (summaries.c.at < before) | ~recent, all_of_them=True)
        for table in (messages, turns, examples):
            deleted += await self._oldest(table, table.c.at < before)
        deleted += await self._oldest(usage, usage.c.at < spent)
        for sums in (usage_hours, turn_hours):
            deleted += await self._oldest(sums, sums.c.hour < hour)
        # Budgets of a chat find its usage through the conversations.
        return deleted + await self._oldest(
            conversations, (conversations.c.ended_at < spent) & _EMPTY, all_of_them=True
        )

    async def _oldest(self, table: Table, old: ColumnElement[bool], all_of_them: bool = False) -> int:
        """Delete old rows in the order of their ids, which is chronological, up to a batch without old ones."""
        deleted, last = 0, 0
        while True:
            try:
                found, last = await self._database.write(partial(_batch, table=table, old=old, after=last))
            finally:
                if self._conversations is not None:
                    self._conversations.clear()
                if self._examples is not None and table is examples:
                    self._examples.forget_cached()
            deleted += found
            if not last or not (found or all_of_them):
                return deleted
            await asyncio.sleep(PAUSE_SECONDS)


def _batch(connection: Connection, table: Table, old: ColumnElement[bool], after: int) -> tuple[int, int]:
    """Delete the old ones among the next BATCH rows. Returns their number, and the last id; 0 after the last row."""
    ids = (
        connection.execute(select(table.c.id).where(table.c.id > after).order_by(table.c.id).limit(BATCH))
        .scalars()
        .all()
    )
    if not ids:
        return 0, 0
    these = delete(table).where(table.c.id > after, table.c.id <= ids[-1], old)
    return connection.execute(these).rowcount, ids[-1] if len(ids) == BATCH else 0
