"""Measures the database: a write, a turn, and the turns of many people in their own chats, with each driver.

python -m benchmarks.databases [--postgres postgresql://user:password@host/name]

The PostgreSQL database must be empty. The CPU of its server is measured if that runs on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from benchmarks.bots.contestants import Process
from routing.errors import ConfigError
from routing.turn.context import MAX_MESSAGES
from routing.types.history import TurnFacts, TurnRecord
from routing.types.lease import Lease
from routing.types.llm import ChatMessage, Usage
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage, UserKey
from routing.types.usage import CallRecord
from storage.database import open_database
from storage.database.migrate import migrate
from storage.stores import Stores, open_stores

ANN = UserKey("telegram", "1")
HOME = ChatKey("telegram", "1")
DAY = 86_400.0
MONTH = 30
TOGETHER = 20
"""People at once, each in their own chat."""
ROUNDS, TURNS = 200, 1_000
"""Steps one after the other, and turns at once."""
POSTGRES = "postgresql"
MODELS = ("openai/gpt-5.1", "openai/gpt-5.2", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash")
"""A person uses few."""


async def opened(driver: str, folder: Path) -> tuple[Stores, int, int]:
    """The stores of a new database, a person and their conversation."""
    return await opened_at(f"{driver}:///{folder / driver.replace('+', '-')}.db", folder)


async def opened_at(url: str, folder: Path) -> tuple[Stores, int, int]:
    """The same at a URL, which must be empty."""
    if await asyncio.to_thread(migrate, url, folder) != "an empty database":
        raise ConfigError("The database is not empty.")
    lease = Lease() if url.startswith(POSTGRES) else None
    stores = open_stores(open_database(url), time.time, lease=lease)
    if lease is not None:
        await _claim(stores, lease)
    person = await stores.people.admit(ANN, "Ann", "owner", "benchmark")
    return stores, person.id, (await stores.history.current(HOME)).id


async def _claim(stores: Stores, lease: Lease) -> None:
    """Join the processes on the database, and claim HOME, as the bot does."""
    from storage.claims import open_claims

    claims = open_claims(stores.database, lease)
    await claims.register("benchmark", starting=True)
    await stores.inbox.accept([InboundMessage(ANN, HOME, "1", "first", "hi", 0.0)])
    found = await claims.take(await claims.claim([HOME.platform], 1, dead=False))
    await stores.ledger.finish([each.id for each in found.messages], [])


_deliveries: set[asyncio.Task[None]] = set()


async def turn(stores: Stores, person_id: int, conversation_id: int, number: int) -> None:
    """What a turn reads and stores: the message, the conversation, the result, and the delivery, which shares a later
    commit, as in the bot. `delivered` waits for it."""
    update = InboundMessage(ANN, HOME, "1", str(number), "hi", 0.0)
    (entry,) = await stores.inbox.accept([update])
    await stores.history.unsummarised(conversation_id, MAX_MESSAGES)
    call = CallRecord("balanced", MODELS[0], Usage(10, 20, 0, Decimal("0.001")), 1.0)
    facts = TurnFacts("balanced", "default", MODELS[0], 1.0)
    answer = (ChatMessage("assistant", "hello"),)
    record = TurnRecord(f"{number:08x}", conversation_id, person_id, "hi", messages=answer, calls=(call,), facts=facts)
    (reply,) = await stores.ledger.finish([entry.id], [OutboundMessage(HOME, "hello")], record)
    delivery = asyncio.create_task(stores.outbox.sent(reply.id, str(number)))
    _deliveries.add(delivery)
    delivery.add_done_callback(_deliveries.discard)


async def delivered() -> None:
    """Wait until all deliveries are stored."""
    await asyncio.gather(*_deliveries)


HEADINGS = ("a write, ms", "a turn, ms", f"{TOGETHER} chats, turns/s", "CPU a turn, ms", "of the server, ms")


async def measure(driver: str, stores: Stores, person_id: int, conversation_id: int) -> None:
    """Print the line of a driver."""
    numbers = iter(range(10**6))
    began = time.perf_counter()
    for number in range(ROUNDS):
        await stores.state.put("key", str(number))
    write = (time.perf_counter() - began) / ROUNDS
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await turn(stores, person_id, conversation_id, next(numbers))
    await delivered()
    alone = (time.perf_counter() - began) / ROUNDS

    chats = await _chats(stores)
    await _turns(stores, chats, numbers, 1)
    server = await _server(stores) if driver == POSTGRES else None
    began, cpu, server_cpu = time.perf_counter(), time.process_time(), server.cpu_seconds() if server else 0.0
    await _turns(stores, chats, numbers, TURNS // TOGETHER)
    rate, took = TURNS / (time.perf_counter() - began), (time.process_time() - cpu) / TURNS
    of_server = f"{(server.cpu_seconds() - server_cpu) / TURNS * 1e3:.2f}" if server else "-"
    figures = (f"{write * 1e3:.2f}", f"{alone * 1e3:.2f}", f"{rate:,.0f}", f"{took * 1e3:.2f}", of_server)
    _print_line(driver, figures)
    await stores.database.close()


async def _chats(stores: Stores) -> list[tuple[int, int]]:
    """People, and the conversations of their own chats."""
    made = []
    for number in map(str, range(2, TOGETHER + 2)):
        person = await stores.people.admit(UserKey("telegram", number), "Ben", "user", "benchmark")
        made.append((person.id, (await stores.history.current(ChatKey("telegram", number))).id))
    return made


async def _turns(stores: Stores, chats: Sequence[tuple[int, int]], numbers: Iterator[int], each: int) -> None:
    """As many turns in each chat, all chats at once."""

    async def chat(person_id: int, conversation_id: int) -> None:
        for _ in range(each):
            await turn(stores, person_id, conversation_id, next(numbers))

    await asyncio.gather(*(chat(*one) for one in chats))
    await delivered()


async def _server(stores: Stores) -> Process | None:
    """The PostgreSQL server, or None if it runs on another machine."""
    return _parent(await stores.database.read(lambda c: c.exec_driver_sql("select pg_backend_pid()").scalar_one()))


def _parent(process: int) -> Process | None:
    status = Path(f"/proc/{process}/status")
    found = re.search(r"\AName:\tpostgres\n(?:.*\n)*?PPid:\t(\d+)\n", status.read_text() if status.exists() else "")
    return Process(int(found[1]), 0.0) if found else None


def _print_line(name: str, figures: Sequence[str]) -> None:
    print(f"{name:<18}", *(f"{figure:>{len(heading)}}" for figure, heading in zip(figures, HEADINGS, strict=True)))


async def drivers(folder: Path, postgres: str) -> None:
    """Measure both SQLite drivers and a PostgreSQL database."""
    _print_line("driver", HEADINGS)
    for driver in ("sqlite", "sqlite+aiosqlite"):
        await measure(driver, *await opened(driver, folder))
    if postgres:
        await measure(POSTGRES, *await opened_at(postgres, folder))


def main() -> None:
    """Print one line per driver."""
    options = argparse.ArgumentParser("benchmarks.databases", description=__doc__)
    options.add_argument("--postgres", default="", metavar="URL", help="an empty database")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(drivers(Path(folder), given.postgres))


if __name__ == "__main__":
    main()
