"""Measures autocomplete latency on Discord, from the interaction to the choices."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.bots.contestants import KEY
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress
from bot.adapters.discord.commands import suggest
from handlers.commands import COMMANDS
from handlers.suggestions import MAX_SUGGESTIONS, Suggestions
from handlers.tools.toolbox import Toolbox
from routing.catalog.catalog import Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.types.messages import UserKey
from routing.types.skills import Skills
from storage.database import open_database
from storage.database.migrate import migrate
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences

LIMIT_MS = 100.0
"""Maximum milliseconds of the slowest answer."""
MODELS = 1_000
TIMES, QUICK = 50, 2
TYPED = {
    "nothing yet": ("",),
    "a beginning": ("o", "op", "openai/", "openai/model-7", "openai/model-77"),
    "a part of the name": ("77", "odel-1", "-1", "l-99"),
    "mistyped": ("opnai modle 77", "modell77", "xyzzy", "gtp-5 mini turbo preview latest"),
}
"""The option's text, grouped by the work it causes."""
HEADINGS = ("typed", "p50, ms", "p95, ms", "slowest, ms", "limit", "")
USER = UserKey("discord", "1")

Samples = dict[str, list[float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limit is kept; 1: it is not."""
    options = parser("benchmarks.autocomplete", __doc__)
    return answered(options, arguments, lambda given: run(QUICK if given.quick else TIMES))


def run(times: int) -> Section:
    """Complete every text several times, over a catalogue of 1,000 models."""
    print_progress("autocomplete")
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_measure(Path(folder), times))
    return report(found, before)


async def _measure(folder: Path, times: int) -> Samples:
    """Milliseconds by group. Raises RuntimeError if suggestions are missing."""
    url = f"sqlite:///{folder / 'tierbot.db'}"
    await asyncio.to_thread(migrate, url, folder)
    database = open_database(url)
    preferences = SqlPreferences(database)
    people = SqlPeople(database, preferences, time.time)
    offered = Suggestions(COMMANDS, _models(), Toolbox(), lambda: Skills({}, {}), people, preferences)
    try:
        await people.admit(USER, "Ada", "user", "benchmark")
        found: Samples = {group: [] for group in TYPED}
        for _ in range(times):
            for group, texts in TYPED.items():
                found[group] += [await _sample(offered, text) for text in texts]
        return found
    finally:
        await database.close()


async def _sample(offered: Suggestions, text: str) -> float:
    began = time.perf_counter()
    words = await suggest(_asked(text), USER, offered)
    took = (time.perf_counter() - began) * 1000
    if len(words) > MAX_SUGGESTIONS or (not words and text in ("", *TYPED["a beginning"])):
        raise RuntimeError(f"{len(words)} suggestions for {text!r}")
    return took


def _asked(text: str) -> dict[str, Any]:
    """`data` of an interaction: /model set with a tier, while the model is typed."""
    options = [{"name": "tier", "type": 3, "value": "coding"}]
    options.append({"name": "model", "type": 3, "value": text, "focused": True})
    return {"name": "model", "options": [{"name": "set", "type": 1, "options": options}]}


def _models() -> Models:
    cards = {
        f"{provider}/model-{number}": {"provider": provider, "displayName": f"Model {number}"}
        for number in range(MODELS // 2)
        for provider in ("openai", "anthropic")
    }
    catalog = Catalog.parse(json.dumps({"models": cards}), "benchmark")
    return Models(read_config(jsonfile.parse("{}", "defaults"), {"openai": KEY}, {}, ()), catalog)


def report(found: Samples, conditions: str) -> Section:
    """The table and its verdict."""
    lines: list[tuple[str, ...]] = [HEADINGS]
    verdicts: list[bool] = []
    for group, samples in found.items():
        verdicts.append(max(samples) <= LIMIT_MS)
        figures = (f"{value:.2f}" for value in (percentile(samples, 0.5), percentile(samples, 0.95), max(samples)))
        lines.append((group, *figures, f"≤ {LIMIT_MS:g} ms", VERDICTS[verdicts[-1]]))
    notes = (
        f"{sum(map(len, found.values()))} answers over a catalogue of {MODELS:,} models, {conditions}; wall clock from "
        "Discord's question to the choices, without the call that carries them.",
    )
    return Section("autocomplete", tuple(lines), notes, all(verdicts), {"milliseconds": found})


if __name__ == "__main__":
    sys.exit(main())
