"""Measures the database: a write and a turn with each SQLite driver.

python -m benchmarks.databases
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from routing.turn.context import MAX_MESSAGES
from routing.types.history import TurnFacts, TurnRecord
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
"""Chats at once."""
ROUNDS = 200
MODELS = ("openai/gpt-5.1", "openai/gpt-5.2", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash")
"""A person uses few."""


async def opened(driver: str, folder: Path) -> tuple[Stores, int, int]:
    """The stores of a new database, a person and their conversation."""
    url = f"{driver}:///{folder / driver.replace('+', '-')}.db"
    await asyncio.to_thread(migrate, url, folder)
    stores = open_stores(open_database(url), time.time)
    person = await stores.people.admit(ANN, "Ann", "owner", "benchmark")
    return stores, person.id, (await stores.history.current(HOME)).id


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


async def _chat(stores: Stores, person_id: int, conversation_id: int, numbers: Iterator[int]) -> None:
    for _ in range(ROUNDS // TOGETHER):
        await turn(stores, person_id, conversation_id, next(numbers))


async def drivers(folder: Path) -> None:
    """Both SQLite drivers, one chat and many."""
    print(
        f"{'driver':<18} {'a write, ms':>12} {'a turn, ms':>12}"
        f" {f'{TOGETHER} chats, turns/s':>20} {'CPU a turn, ms':>15}"
    )
    for driver in ("sqlite", "sqlite+aiosqlite"):
        stores, person_id, conversation_id = await opened(driver, folder)
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

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(_chat(stores, person_id, conversation_id, numbers) for _ in range(TOGETHER)))
        await delivered()
        rate, took = ROUNDS / (time.perf_counter() - began), (time.process_time() - cpu) / ROUNDS
        print(f"{driver:<18} {write * 1e3:>12.2f} {alone * 1e3:>12.2f} {rate:>20.0f} {took * 1e3:>15.2f}")
        await stores.database.close()


def main() -> None:
    """Print one line per driver."""
    argparse.ArgumentParser("benchmarks.databases", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(drivers(Path(folder)))


if __name__ == "__main__":
    main()
