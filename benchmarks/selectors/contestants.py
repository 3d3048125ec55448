"""The selectors that are compared, ours first; the scorers show the same share of the catalogue as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.selectors import minilm, scorers, simple
from benchmarks.tool_routing import Selects
from routing.tools.selection import build_selector

Build = Callable[[Sequence[Mapping[str, Any]], Mapping[str, Sequence[str]]], Selects | scorers.Scorer]


@dataclass(frozen=True, slots=True)
class Contestant:
    """`build` makes the selector from a catalogue and examples; `missing` names the packages that are not installed."""

    name: str
    build: Build
    missing: Callable[[], str] = str


OURS = Contestant("ours", build_selector)
SIMPLE = Contestant("simple", simple.build)
BM25 = Contestant("BM25", scorers.bm25)
MINILM = Contestant("MiniLM", scorers.minilm, minilm.missing)
CONTESTANTS = (OURS, SIMPLE, BM25, MINILM)
