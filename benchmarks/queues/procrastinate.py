"""procrastinate: its `lock` keeps the order of a conversation; a periodic task retries what a dead worker left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import procrastinate
from procrastinate.jobs import Job as Row

from benchmarks.queues.contender import (
    ATTEMPTS,
    BEAT_SECONDS,
    DEAD_SECONDS,
    POLL_SECONDS,
    RETRY_SECONDS,
    STORE,
    TOGETHER,
    Job,
    Message,
    Put,
)

TASK = "message"
RESCUE_SECONDS = 2
"""Between two looks for jobs of dead workers; the manual's example looks every ten minutes."""


class Procrastinate:
    """One worker a process."""

    settings = (
        f"a lock a conversation, {TOGETHER} jobs at once, jobs of dead workers retried every {RESCUE_SECONDS} s, "
        f"a look every {POLL_SECONDS:g} s beside NOTIFY (default 5)"
    )

    async def create(self, dsn: str) -> None:
        app = _app(dsn)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    @asynccontextmanager
    async def front(self, dsn: str) -> AsyncIterator[Put]:
        app = _app(dsn)
        async with app.open_async():

            async def put(messages: Sequence[Message]) -> None:
                await app.job_manager.batch_defer_jobs_async([_row(each) for each in messages])

            yield put

    async def consume(self, dsn: str, job: Job, ready: Callable[[], None]) -> None:
        app = _app(dsn)

        async def handle(text: str) -> None:
            message = await job.run(text)
            if job.stores:
                async with app.connector.pool.connection() as connection:
                    await connection.execute(STORE.replace("$1", "%s"), (message,))

        async def rescue(timestamp: int) -> None:
            for stalled in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=DEAD_SECONDS):
                await app.job_manager.retry_job(stalled)

        retry = procrastinate.RetryStrategy(max_attempts=ATTEMPTS, wait=RETRY_SECONDS)
        app.task(name=TASK, retry=retry)(handle)
        app.periodic(cron=f"* * * * * */{RESCUE_SECONDS}")(app.task(name="rescue", queueing_lock="rescue")(rescue))
        async with app.open_async():
            ready()
            await app.run_worker_async(
                concurrency=TOGETHER,
                update_heartbeat_interval=BEAT_SECONDS,
                stalled_worker_timeout=DEAD_SECONDS,
                fetch_job_polling_interval=POLL_SECONDS,
                install_signal_handlers=False,
            )


def _app(dsn: str) -> Any:
    return procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn, min_size=4, max_size=10))


def _row(message: Message) -> Any:
    return Row(
        queue="messages",
        task_name=TASK,
        lock=str(message.conversation),
        queueing_lock=None,
        task_kwargs={"text": message.text()},
    )


QUEUE = Procrastinate()
