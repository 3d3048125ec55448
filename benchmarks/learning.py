"""What learning from use finds and costs: `python -m benchmarks.learning [--data FOLDER]`.

Examples of one tool are drawn from the development queries of the assistant catalogue; the other queries for the tool
should be near three of them, and those for other toolkits should not. Prints the shares for the shipped encoder and for
hashed words, and the milliseconds for a person without examples and with 1,000.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from routing.config.sections import LearningConfig
from routing.learning.index import NEAR, NEAR_BY_WORDS
from routing.learning.learning import Learning
from routing.learning.vectors import hashed, pack, unpack
from routing.policy.auto.preprocessing import preprocess
from routing.tools.embedding.static import StaticEmbedder
from routing.tools.selection.encoder import StaticEncoder
from routing.types.learning import MAX_EXAMPLES, Example, Lesson
from routing.types.people import Person
from routing.types.turns import Question
from routing.types.vectors import Floats

DATA = Path(__file__).resolve().parent / "data" / "tool-routing"
LEAST, DRAWS, SIZES = LearningConfig().examples, 6, (3, 6, 12)
ROUNDS = 500


class Examples:
    """The examples of person 1, in memory."""

    def __init__(self, examples: tuple[Example, ...]) -> None:
        self._examples = examples

    async def of(self, person_id: int) -> tuple[Example, ...]:
        return self._examples if person_id == 1 else ()


def near(
    rows: Floats, queries: Sequence[dict[str, Any]], size: int, least: float, english: bool
) -> tuple[float, float]:
    """The shares of the other queries for a tool, and of those for other toolkits, near LEAST of `size` examples."""
    draw = random.Random(1)
    places = [at for at, query in enumerate(queries) if (query["lang"] == "en") == english]
    hits, all_ = [0, 0], [0, 0]
    for tool in sorted({query["tool"] for query in queries if query["tool"]}):
        same = [at for at in places if queries[at]["tool"] == tool]
        other = [at for at in places if same and queries[at]["kit"] != queries[same[0]]["kit"]]
        if len(same) < size + LEAST:
            continue
        for _ in range(DRAWS):
            taught = draw.sample(same, size)
            for group, these in enumerate(([at for at in same if at not in taught], other)):
                cosines = rows[these] @ rows[taught].T
                hits[group] += int(((cosines >= least).sum(1) >= LEAST).sum())
                all_[group] += len(these)
    return hits[0] / max(1, all_[0]), hits[1] / max(1, all_[1])


async def milliseconds(texts: Sequence[str], examples: tuple[Example, ...], embedder: StaticEmbedder) -> str:
    """The median and the 99th percentile for a message, the best of three each, to exclude other programs."""
    store: Any = Examples(examples)
    chats: Any = None  # a question without a chat needs none
    learning = Learning(store, chats, embedder, LearningConfig)
    times = []
    for text in texts[:ROUNDS]:
        question = Question(Person(1, "user", "Ann"), 1, text)
        spent = []
        for _ in range(3):
            began = time.perf_counter()
            await learning.about(question)
            spent.append((time.perf_counter() - began) * 1e3)
        times.append(min(spent))
    times.sort()
    return f"p50 {times[len(times) // 2]:.4f} ms, p99 {times[int(len(times) * 0.99)]:.4f} ms"


async def timed(texts: Sequence[str], rows: Floats) -> None:
    embedder = StaticEmbedder()
    await embedder.embed(["hello"])
    tools = [f"tool_{number}" for number in range(40)]
    examples = tuple(
        Example(at, Lesson("found", tools[at % 40]), str(at), embedder.name, pack(rows[at]))
        for at in range(MAX_EXAMPLES)
    )
    print(f"no examples: {await milliseconds(texts, (), embedder)}")
    print(f"{MAX_EXAMPLES:,} examples: {await milliseconds(texts, examples, embedder)}")
    await embedder.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="(%(default)s)")
    file = parser.parse_args().data / "dev" / "assistant.jsonl"
    queries = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    queries = [query for query in queries if query["kind"] in ("single", "none")]
    for query in queries:
        query["tool"], query["kit"] = (next(iter(query.get(key) or ()), "") for key in ("gold_tools", "gold"))
    texts = [query["query"] for query in queries]
    encoded = StaticEncoder.load().encode(texts)
    by_words = np.stack([hashed(preprocess(text)) for text in texts])
    for name, rows, least in (("encoder", encoded, NEAR), ("words", by_words, NEAR_BY_WORDS)):
        rows = np.stack([unpack(pack(row)) if row.any() else row for row in rows])
        for english in (True, False):
            for size in SIZES:
                found, wrong = near(rows, queries, size, least, english)
                language = "English" if english else "others"
                print(f"{name}, {language}, {size} examples: {found:.3f} near, {wrong:.4f} of other toolkits")
    asyncio.run(timed(texts, encoded))


if __name__ == "__main__":
    main()
