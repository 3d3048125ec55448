"""Measures how long the first call's tools keep the event loop busy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.tools.offer import TurnTools
from routing.tools.selection.entries import entries
from routing.tools.selector import Activated, ToolSelection
from routing.types.decisions import SIZES, Size
from routing.types.toolkits import ToolCard, Toolkit, ToolText

MODELS: Mapping[Size, str] = {
    "S": "openai/llama-3.2-1b",
    "M": "openai/qwen2.5-7b-instruct",
    "L": "openai/qwen2.5-32b-instruct",
    "XL": "openai/gpt-5.2",
}
WINDOW = 128_000
MAX_QUERIES = 20
EMPTY = {"type": "object", "properties": {}}


def slowest(selector: Any, catalogue: Sequence[Mapping[str, Any]], queries: Sequence[str]) -> float:
    """Milliseconds of this thread: the median over some queries, for the slowest size class."""
    toolkits = tuple(map(_toolkit, catalogue))
    names = [entry.name for entry in entries(catalogue, {})]
    models = Models(read_config(jsonfile.parse("{}", "config"), {}, {}), Catalog.load(BUNDLED))
    spent: dict[Size, list[float]] = {size: [] for size in SIZES}
    for query in queries[:MAX_QUERIES]:
        decision = selector.decide(query)
        found = tuple(Activated(each.name, "embed", 1.0) for each in decision.chosen)
        selection = ToolSelection(found, dict(zip(names, decision.odds.tolist(), strict=True)))
        for size, times in spent.items():
            times.append(_shown(models, toolkits, selection, MODELS[size]))
    return max(map(statistics.median, spent.values()))


def _shown(models: Models, toolkits: tuple[Toolkit, ...], selection: ToolSelection, model: str) -> float:
    unused: Any = None  # neither runs a tool nor chooses one
    tools = TurnTools(unused, unused, models, toolkits, selection)
    worked = time.thread_time()
    tools.begin_call(model, WINDOW)
    return (time.thread_time() - worked) * 1e3


def _toolkit(row: Mapping[str, Any]) -> Toolkit:
    cards = tuple(map(_card, row.get("tools") or (row,)))
    return Toolkit(row["name"], row.get("description") or "", row.get("category") or "", tools=cards)


def _card(row: Mapping[str, Any]) -> ToolCard:
    text = ToolText(row.get("description") or row["name"], row.get("parameters") or EMPTY)
    return ToolCard(row["name"], dict.fromkeys(SIZES, text), row.get("category") or "")
