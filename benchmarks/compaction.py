"""Measures the summary of a long conversation without the model's own time, from store to store."""

from __future__ import annotations

import asyncio
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete

from benchmarks.bots.contestants import KEY
from benchmarks.phase_timers import PHASES, AtOnce, Watch, WatchedHistory, WatchedSummariser
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress, sampled
from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.turn.context import MAX_MESSAGES, Context
from routing.types.history import TurnRecord
from routing.types.llm import ChatMessage, ToolCall
from routing.types.messages import Attachment, ChatKey, UserKey
from routing.types.people import Person
from routing.types.turns import Question
from storage.database import Database, open_database
from storage.database.migrate import migrate
from storage.history import SqlHistory
from storage.ledger import SqlLedger
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences
from storage.schema import summaries

LIMIT_MS, LIMITED = 50.0, 1_000
"""Maximum milliseconds per number of messages."""
SIZES = (1_000, 5_000)
TIMES, QUICK = 15, 3
KEEP = 20
HEADINGS = ("messages", "wall p50, ms", "wall p95, ms", "CPU p50, ms", *PHASES, "summary calls", "limit", "")

MESSAGES_A_CYCLE = 8
"""Two plain turns of two messages, and one with a tool call of four."""
_QUESTION, _ANSWER, _RESULT = 70, 450, 500
"""Median lengths in characters; a tenth of the messages is three times as long."""
_SPREAD = 0.85
_LINES = (
    "however the garden is in the sun from the morning to 12:30 and it was **dry** for a week, though they said that ",
    "because of `cron` in /srv/data/log.txt it costs €14.90 a month as in August; naïve or not, look at this one ",
    "the water for the tomatoes should be on at six in the evening, and with a hose that is done in ten minutes ",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One compaction: `phases`, `wall` and `cpu` in milliseconds, CPU that of every thread; messages `covered`."""

    phases: dict[str, float]
    wall: float
    cpu: float
    covered: int
    model_calls: int


Samples = dict[int, list[Sample]]


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limit is kept; 1: it is not."""
    options = parser("benchmarks.compaction", __doc__)
    return answered(options, arguments, lambda given: run(SIZES, QUICK if given.quick else TIMES))


def run(sizes: Sequence[int], times: int) -> Section:
    """Compact conversations of each size in a separate database."""
    print_progress("compaction")
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_measure(Path(folder), sizes, times))
    return report(found, before)


async def _measure(folder: Path, sizes: Sequence[int], times: int) -> Samples:
    models = Models(read_config(jsonfile.parse("{}", "defaults"), {"openai": KEY}, {}, ()), Catalog.load(BUNDLED))
    url = f"sqlite:///{folder / 'tierbot.db'}"
    migrate(url, folder)
    database = open_database(url)
    try:
        conversations = {size: await fill(database, size) for size in sizes}
        await _sample(database, models, conversations[sizes[0]])  # the first one compiles the statements
        found: Samples = {size: [] for size in sizes}
        for _ in range(times):
            for size, conversation_id in conversations.items():
                found[size].append(await _sample(database, models, conversation_id))
        return found
    finally:
        await database.close()


async def _sample(database: Database, models: Models, conversation_id: int) -> Sample:
    """Reads and compacts a conversation without a summary, as /compact does. Raises RuntimeError on failure."""
    await database.write(lambda connection: connection.execute(delete(summaries)))
    watch, llm = Watch(), AtOnce()
    summariser = WatchedSummariser(models, llm, watch)
    question = Question(Person(1, "user", "Ada"), conversation_id, "")
    context = Context(WatchedHistory(database, watch), _no_picture, question, models.config, summariser)
    began, cpu = time.perf_counter(), time.process_time()
    await context.load()
    covered = await context.compact(KEEP, summariser)
    wall, cpu = (time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000
    if not (covered and llm.asked):
        raise RuntimeError(f"{covered} messages were summed up in {llm.asked} calls")
    watch.spent["deciding"] = wall - sum(watch.spent.values())
    return Sample(watch.spent, wall, cpu, covered, llm.asked)


async def _no_picture(_: Attachment) -> None:
    return None


async def fill(database: Database, size: int) -> int:
    """Stores a conversation with realistic lengths, some turns with tools. `size` is the number of messages, a
    multiple of eight. Returns the conversation's id."""
    people = SqlPeople(database, SqlPreferences(database), time.time)
    person = await people.admit(UserKey("telegram", str(size)), "Ada", "user", "benchmark")
    conversation = await SqlHistory(database, time.time).begin(ChatKey("telegram", str(size)))
    ledger, dice = SqlLedger(database, time.time), random.Random(size)
    for number in range(size // MESSAGES_A_CYCLE * 3):
        answer = _with_a_tool(number, dice) if number % 3 == 2 else (_answer(dice),)
        question = _text(_QUESTION, dice)
        await ledger.finish([], [], TurnRecord(f"{number:08x}", conversation.id, person.id, question, messages=answer))
    return conversation.id


def _with_a_tool(number: int, dice: random.Random) -> tuple[ChatMessage, ...]:
    call = ToolCall(f"call_{number:024d}", "read_file", '{"path": "notes/garden.md"}')
    asked = ChatMessage("assistant", "", calls=(call,), made_by="openai/gpt-5.1")
    return asked, ChatMessage("tool", _text(_RESULT, dice), call_id=call.id, tool=call.name), _answer(dice)


def _answer(dice: random.Random) -> ChatMessage:
    return ChatMessage("assistant", _text(_ANSWER, dice), made_by="openai/gpt-5.1")


def _text(median: int, dice: random.Random) -> str:
    length = max(2, int(dice.lognormvariate(math.log(median), _SPREAD)))
    return "\n".join(dice.choices(_LINES, k=1 + length // 100))[:length]


def report(found: Samples, conditions: str) -> Section:
    """The table and its verdict."""
    lines: list[tuple[str, ...]] = [HEADINGS]
    verdicts: list[bool | None] = []
    for size, samples in found.items():
        wall = [sample.wall for sample in samples]
        limited = size == LIMITED
        verdict = statistics.median(wall) <= LIMIT_MS if limited else None
        verdicts.append(verdict)
        cpu = statistics.median(sample.cpu for sample in samples)
        phases = (statistics.median(sample.phases[name] for sample in samples) for name in PHASES)
        figures = (f"{value:.1f}" for value in (statistics.median(wall), percentile(wall, 0.95), cpu, *phases))
        limit = f"≤ {LIMIT_MS:g} ms" if limited else ""
        lines.append((f"{size:,}", *figures, str(samples[0].model_calls), limit, VERDICTS[verdict]))
    notes = (
        f"{len(next(iter(found.values())))} compactions of each, interleaved, {conditions}; the phases are medians of "
        "wall clock in ms. The model's answer takes no time, and what is asked of it is made and thrown away.",
        f"Reading and writing are SQLite with a full sync; the newest {KEEP} messages stay. A prompt holds "
        f"{MAX_MESSAGES:,} messages at most; older ones are read only for the summary.",
    )
    return sampled("compaction", lines, notes, verdicts, found)


if __name__ == "__main__":
    sys.exit(main())
