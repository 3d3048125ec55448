"""DBOS: a workflow a message, a partitioned queue with one workflow a conversation at a time.

Messages of one commit have the same time, so only their ids keep the order. A job that can fail runs as a step with
retries. A result is stored by a transaction of its data source, which DBOS records with it, so it is stored once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import dbos
import sqlalchemy

from benchmarks.queues.contender import ATTEMPTS, POLL_SECONDS, RETRY_SECONDS, STORE, TOGETHER, Job, Message, Put

NAME, QUEUE_NAME, WORKFLOW = "benchmark", "messages", "handle"


class Dbos:
    """One executor a process, named by its slot: only the same name finds the workflows of a dead one."""

    settings = (
        f"a partition a conversation, partition_concurrency 1, worker_concurrency {TOGETHER}, a look every "
        f"{POLL_SECONDS:g} s (default 1), no Conductor"
    )

    async def create(self, dsn: str) -> None:
        await asyncio.to_thread(_create, dsn)

    @asynccontextmanager
    async def front(self, dsn: str) -> AsyncIterator[Put]:
        client = await asyncio.to_thread(lambda: dbos.DBOSClient(system_database_url=dsn, application_name=NAME))
        engine = sqlalchemy.create_engine(_url(dsn))

        def insert(messages: Sequence[Message]) -> None:
            with engine.begin() as connection:
                for each in messages:
                    options = {
                        "workflow_name": WORKFLOW,
                        "queue_name": QUEUE_NAME,
                        "workflow_id": f"{each.index:09}",
                        "queue_partition_key": str(each.conversation),
                    }
                    client.enqueue_in_transaction(connection, options, each.text())

        async def put(messages: Sequence[Message]) -> None:
            await asyncio.to_thread(insert, messages)

        yield put
        client.destroy()

    async def consume(self, dsn: str, job: Job, ready: Callable[[], None]) -> None:
        _configure(dsn, f"consumer-{job.slot}")
        source = await dbos.AsyncSQLAlchemyDatasource.create(dsn)

        async def keep(message: int) -> None:
            statement = sqlalchemy.text(STORE.replace("$1", ":message"))
            await source.sql_session().execute(statement, {"message": message})

        stores = source.transaction(name="keep", isolation_level="READ COMMITTED")(keep)
        retries = {
            "retries_allowed": True,
            "interval_seconds": RETRY_SECONDS,
            "backoff_rate": 1,
            "max_attempts": ATTEMPTS,
        }

        async def run(text: str) -> int:
            return await job.run(text)

        step = dbos.DBOS.step(name="run", **retries)(run)

        async def handle(text: str) -> None:
            message = await (step if job.failing or job.stores else run)(text)
            if job.stores:
                await stores(message)

        dbos.DBOS.workflow(name=WORKFLOW)(handle)
        await asyncio.to_thread(dbos.DBOS.launch)
        ready()
        await asyncio.Event().wait()


def _create(dsn: str) -> None:
    _configure(dsn, "create")
    dbos.DBOS.launch()
    limits = {"partition_concurrency": 1, "worker_concurrency": TOGETHER}
    dbos.DBOS.register_queue(QUEUE_NAME, polling_interval_sec=POLL_SECONDS, **limits)
    dbos.DBOS.destroy()


def _configure(dsn: str, executor: str) -> None:
    config: Any = {
        "name": NAME,
        "system_database_url": dsn,
        "executor_id": executor,
        "application_version": "1",
        "log_level": "ERROR",
        "run_admin_server": False,
    }
    dbos.DBOS(config=config)


def _url(dsn: str) -> str:
    return dsn.replace("postgresql://", "postgresql+psycopg://")


QUEUE = Dbos()
