"""PgQueuer: batches, and no order of a conversation, because a limit counts for a whole entrypoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import asyncpg
import pgqueuer
from pgqueuer.executors import DatabaseRetryEntrypointExecutor
from pgqueuer.queries import Queries

from benchmarks.queues.contender import ATTEMPTS, DEAD_SECONDS, RETRY_SECONDS, STORE, TOGETHER, Job, Message, Put

ENTRYPOINT = "message"
BATCH = TOGETHER // 2
"""The most that its limit on jobs at once allows."""
LOOK_SECONDS = 1.0


class PgQueuer:
    """One queue manager a process."""

    settings = (
        f"batches of {BATCH}, {TOGETHER} jobs at once, retries in the database, heartbeat timeout {DEAD_SECONDS:g} s "
        f"(default 30), a look every {LOOK_SECONDS:g} s beside NOTIFY (default 30)"
    )

    async def create(self, dsn: str) -> None:
        connection = await asyncpg.connect(dsn)
        await Queries.from_asyncpg_connection(connection).install()
        await connection.close()

    @asynccontextmanager
    async def front(self, dsn: str) -> AsyncIterator[Put]:
        async with asyncpg.create_pool(dsn, min_size=2, max_size=2) as pool:
            queries = Queries.from_asyncpg_pool(pool)

            async def put(messages: Sequence[Message]) -> None:
                payloads = [each.text().encode() for each in messages]
                await queries.enqueue([ENTRYPOINT] * len(payloads), payloads, [0] * len(payloads))

            yield put

    async def consume(self, dsn: str, job: Job, ready: Callable[[], None]) -> None:
        async with asyncpg.create_pool(dsn, min_size=4, max_size=10) as pool:

            async def handle(row: Any) -> None:
                message = await job.run(row.payload.decode())
                if job.stores:
                    await pool.execute(STORE, message)

            queue = pgqueuer.PgQueuer.from_asyncpg_pool(pool)
            retry = timedelta(seconds=RETRY_SECONDS)
            executor = partial(DatabaseRetryEntrypointExecutor, max_attempts=ATTEMPTS, initial_delay=retry)
            queue.entrypoint(ENTRYPOINT, executor_factory=executor)(handle)
            ready()
            await queue.run(
                dequeue_timeout=timedelta(seconds=LOOK_SECONDS),
                batch_size=BATCH,
                max_concurrent_tasks=TOGETHER,
                heartbeat_timeout=timedelta(seconds=DEAD_SECONDS),
            )


QUEUE = PgQueuer()
