"""Measures the database: a step and a turn with each SQLite driver, and reads for a person with 200,000 messages.

python -m benchmarks.databases [--messages 200000]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, insert

from routing.health.failures import percentile
from routing.types.budgets import Period, days
from routing.types.history import TurnFacts, TurnRecord
from routing.types.llm import ChatMessage, Usage
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage, UserKey
from routing.types.tiers import TIERS
from routing.types.usage import CallRecord, Payer
from storage.database import open_database
from storage.database.migrate import migrate
from storage.hours import add_turn, add_usage
from storage.schema import messages, turns, usage
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


async def turn(stores: Stores, person_id: int, conversation_id: int, number: int) -> None:
    """What a turn stores: the message, its start, its result, and the delivery."""
    update = InboundMessage(ANN, HOME, "1", str(number), "hi", 0.0)
    (entry,) = await stores.inbox.accept([update])
    await stores.inbox.begin([entry.id])
    call = CallRecord("balanced", MODELS[0], Usage(10, 20, 0, 0, Decimal("0.001")), 1.0)
    facts = TurnFacts("balanced", "default", MODELS[0], 1.0)
    answer = (ChatMessage("assistant", "hello"),)
    record = TurnRecord(f"{number:08x}", conversation_id, person_id, "hi", messages=answer, calls=(call,), facts=facts)
    (reply,) = await stores.ledger.finish([entry.id], [OutboundMessage(HOME, "hello")], record)
    await stores.outbox.attempting(reply.id)
    await stores.outbox.sent(reply.id, str(number))


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
        alone = (time.perf_counter() - began) / ROUNDS

        async def chat() -> None:
            for _ in range(ROUNDS // TOGETHER):
                await turn(stores, person_id, conversation_id, next(numbers))  # noqa: B023

        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(chat() for _ in range(TOGETHER)))
        rate, took = ROUNDS / (time.perf_counter() - began), (time.process_time() - cpu) / ROUNDS
        print(f"{driver:<18} {write * 1e3:>12.2f} {alone * 1e3:>12.2f} {rate:>20.0f} {took * 1e3:>15.2f}")
        await stores.database.close()


def fill(connection: Connection, person_id: int, conversation_id: int, count: int, now: float) -> None:
    """Inserts `count` messages of one person in one conversation over a month; half of them are answers with a call."""
    size = 2_000
    for start in range(0, count // 2, size):
        at = [(number, now - MONTH * DAY * (1 - number / (count / 2))) for number in range(start, start + size)]
        mine = {"person_id": person_id, "conversation_id": conversation_id}
        rows = [
            mine | {"turn_id": f"{number:08x}", "role": role, "text": "some words " * 10, "at": then}
            for number, then in at
            for role in ("user", "assistant")
        ]
        connection.execute(insert(messages), rows)
        spent = [
            mine
            | {"turn_id": f"{number:08x}", "tier": TIERS[number % 4], "model": MODELS[number % 4], "input_tokens": 900}
            | {"output_tokens": 200, "cached_tokens": 0, "reasoning_tokens": 0, "cost_nano": 1_000_000}
            | {"held_nano": None, "seconds": 1.0 + number % 97 / 10, "at": then}
            for number, then in at
        ]
        connection.execute(insert(usage), spent)
        went = [
            {"turn_id": f"{number:08x}", "person_id": person_id, "tier": TIERS[number % 4], "source": "default"}
            | {"model": MODELS[number % 4], "failed": "[]", "fallback": False, "timed_out": False, "escalated": False}
            | {"seconds": 1.0 + number % 97 / 10, "first_token_seconds": 0.5, "cost_nano": 1_000_000, "unknown": 0}
            | {"rating": None, "at": then}
            for number, then in at
        ]
        connection.execute(insert(turns), went)
        add_usage(connection, spent)
        for row in went:
            add_turn(connection, row)


async def month(folder: Path, count: int) -> None:
    """How long the reports and the reads of a turn take."""
    stores, person, conversation = await opened("sqlite", folder / "month")
    now = time.time()
    await stores.database.write(lambda c: fill(c, person, conversation, count, now))
    dates = days(now, MONTH, ZoneInfo("UTC"))
    whole = Period(dates[0].date, dates[0].start, dates[-1].end)
    payers = [
        payer
        for each in (dates[-1], whole)
        for payer in (Payer(each), Payer(each, person), Payer(each, chat=(HOME.platform, HOME.chat_id)))
    ]
    steps: dict[str, Callable[[], Awaitable[object]]] = {
        "turn: history": lambda: stores.history.unsummarised(conversation, 200),
        "turn: budgets": lambda: stores.spending.sums(payers),
        "turn: tiers": lambda: stores.history.tiers(conversation, 5),
        "/usage": lambda: stores.usage.by_model(person_id=person),
        "/usage 30d": lambda: stores.spending.by_day(dates, person),
        "/usage tiers": lambda: stores.turns.by_tier(now - MONTH * DAY, person_id=person),
        "/usage tiers, spending": lambda: stores.spending.by_tier(now - MONTH * DAY, person),
        "/status: a model": lambda: stores.usage.seconds(MODELS[0], 100),
        "/status: conversation": lambda: stores.usage.by_model(conversation_id=conversation),
        "/history": lambda: stores.history.recent(HOME, 10),
    }
    print(f"\n{f'{count:,} messages of one person':<32}{'first, ms':>12}{'median, ms':>12}{'CPU, ms':>12}")
    for name, step in steps.items():
        took: list[float] = []
        cpu = time.process_time()
        for _ in range(5):
            began = time.perf_counter()
            await step()
            took.append((time.perf_counter() - began) * 1e3)
        print(f"{name:<32}{took[0]:>12.1f}{percentile(took, 0.5):>12.1f}{(time.process_time() - cpu) * 200:>12.1f}")
    await stores.database.close()


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(drivers(Path(folder)))
        asyncio.run(month(Path(folder), options.messages))


if __name__ == "__main__":
    main()
