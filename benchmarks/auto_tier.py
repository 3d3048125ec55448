"""How well `/tier auto` chooses: `python -m benchmarks.auto_tier`.

The set was frozen before any rule was made, its half `unused` only looked at in totals; but who wrote the rules had
written both halves, which flatters ours. The rows of a later, smaller set were written when the rules were done: they
tell how it is with sentences nobody thought of. Beside ours: LiteLLM's own complexity heuristics, balanced always,
length alone. LiteLLM's classes stand for tiers in the way that serves it best on the half `tuning`: of all rising ways,
with coding for what it finds code in, or without. It gets the text alone, as it knows no turns before.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from benchmarks.section import Section, answered, grid, load, parser, percentile
from routing.auto import choose
from routing.types import DEFAULT_TIER, TIERS, Tier

SET = Path(__file__).parent / "data" / "auto_tier.jsonl"
LATER = SET.with_name("auto_tier_later.jsonl")
FROZEN = "2026-11-22"
DIGEST = "122224cb1b443e6ee78b0c91172acd9627811c086bdac057e52a120a3ab0edc1"
LEAST_ACCEPTED, MOST_MILLISECONDS = 0.9, 1.0

PRICES: Mapping[Tier, int] = {"balanced": 1, "smart": 3, "coding": 3, "deep": 5}
"""List prices of the default models of one vendor, as multiples of balanced."""
RISING: tuple[Tier, ...] = ("balanced", "smart", "deep")
CLASSES = ("SIMPLE", "MEDIUM", "COMPLEX", "REASONING")
TUNING, UNUSED = "tuning", "unused"
WARM_UP, ROUNDS, QUICK_ROUNDS = 20, 5, 1
SHORT, LONG = 60, 400
"""Characters up to which length alone says balanced, and smart."""


@dataclass(frozen=True, slots=True)
class Row:
    """One message: `accepted` are the tiers that are right, `previous` those of the turns before, the newest last."""

    text: str
    accepted: tuple[Tier, ...]
    language: str
    kind: str
    previous: tuple[Tier, ...] = ()
    had_code: bool = False
    pictures: int = 0

    @property
    def half(self) -> str:
        """By a stable hash of the text, so that a row never changes sides."""
        return UNUSED if hashlib.sha256(self.text.encode()).digest()[0] % 2 else TUNING


Chooser = Callable[[Row], Tier]


@dataclass(frozen=True, slots=True)
class Result:
    """What a chooser said to each row, and the milliseconds of each call."""

    chosen: Sequence[Tier]
    milliseconds: Sequence[float]


def read(path: Path = SET) -> list[Row]:
    """The rows of a set. Raises ValueError for an unknown tier, TypeError for an unknown field."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        given = json.loads(line)
        accepted, previous = tuple(given.pop("accepted")), tuple(given.pop("previous", ()))
        if not accepted or not {*accepted, *previous} <= {*TIERS}:
            raise ValueError(f"{path.name}: {accepted} or {previous} are no tiers")
        rows.append(Row(accepted=accepted, previous=previous, **given))
    return rows


def ours(row: Row) -> Tier:
    return choose(row.text, previous=row.previous, had_code=row.had_code, pictures=row.pictures).tier


def by_length(row: Row) -> Tier:
    return RISING[(len(row.text) > SHORT) + (len(row.text) > LONG)]


def litellm_classes() -> Mapping[str, Callable[[str], tuple[int, bool]]]:
    """LiteLLM's two heuristics that ask no model: a class from 0 to 3, and whether code was found."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    from litellm import Router
    from litellm.router_strategy.complexity_router import ComplexityRouter

    tiers = {name: name.lower() for name in CLASSES}
    first = ComplexityRouter("auto", Router(model_list=[]), {"tiers": tiers})
    second = ComplexityRouter("auto", Router(model_list=[]), {"tiers": tiers, "classifier_type": "heuristic_v2"})

    def scored(text: str) -> tuple[int, bool]:
        tier, _, signals = first.classify(text)
        return CLASSES.index(tier.value), any(signal.startswith("code") for signal in signals)

    def learned(text: str) -> tuple[int, bool]:
        outcome = second._classify_with_heuristic_v2(text)
        return CLASSES.index(outcome.tier.value), any("code" in signal for signal in outcome.signals)

    return {"LiteLLM complexity": scored, "LiteLLM heuristic v2": learned}


def fairest(classify: Callable[[str], tuple[int, bool]], rows: Sequence[Row]) -> tuple[Chooser, str]:
    """The reading of its classes that is right most often for these rows, and how it is said."""
    found = [(classify(row.text), row.accepted) for row in rows]

    def right(way: tuple[tuple[Tier, ...], bool]) -> int:
        return sum(_read_as(each, *way) in accepted for each, accepted in found)

    ways = [(tiers, coding) for tiers in combinations_with_replacement(RISING, 4) for coding in (True, False)]
    tiers, coding = max(ways, key=right)
    return lambda row: _read_as(classify(row.text), tiers, coding), " ".join((*tiers, "+ coding" if coding else ""))


def _read_as(said: tuple[int, bool], tiers: Sequence[Tier], coding: bool) -> Tier:
    return "coding" if coding and said[1] else tiers[said[0]]


def measure(chooser: Chooser, rows: Sequence[Row], rounds: int) -> Result:
    """Every row, the best time of so many rounds: other programs' time is not the chooser's."""
    for row in rows[:WARM_UP]:
        chooser(row)
    chosen: list[Tier] = []
    times: list[float] = []
    for row in rows:
        spent = []
        for _ in range(rounds):
            began = time.perf_counter()
            tier = chooser(row)
            spent.append((time.perf_counter() - began) * 1e3)
        chosen.append(tier)
        times.append(min(spent))
    return Result(chosen, times)


def error(tier: Tier, accepted: Sequence[Tier]) -> tuple[int, int]:
    """How much dearer and how much cheaper than any accepted tier, in prices of balanced; the wrong one of two at one
    price counts 1 as too cheap."""
    if tier in accepted:
        return 0, 0
    least, most = min(PRICES[each] for each in accepted), max(PRICES[each] for each in accepted)
    above, below = max(0, PRICES[tier] - most), max(0, least - PRICES[tier])
    return above, below if above or below else 1


def figures(rows: Sequence[Row], result: Result) -> dict[str, Any]:
    """Shares and errors of both halves; nothing about a single row."""
    shares: dict[str, Any] = {}
    for half in (TUNING, UNUSED):
        pairs = [(row, tier) for row, tier in zip(rows, result.chosen, strict=True) if row.half == half]
        errors = [error(tier, row.accepted) for row, tier in pairs]
        shares[half] = {
            "accepted": _share(pairs),
            "too_dear": sum(dear for dear, _ in errors) / len(pairs),
            "too_cheap": sum(cheap for _, cheap in errors) / len(pairs),
            **{part: _by_name(pairs, part) for part in ("language", "kind")},
        }
    times = {f"p{share}": percentile(result.milliseconds, share / 100) for share in (50, 99)}
    return {**shares, "milliseconds": times}


def _by_name(pairs: Sequence[tuple[Row, Tier]], part: str) -> dict[str, float]:
    names = sorted({getattr(row, part) for row, _ in pairs})
    return {name: _share([pair for pair in pairs if getattr(pair[0], part) == name]) for name in names}


def _share(pairs: Sequence[tuple[Row, Tier]]) -> float:
    return sum(tier in row.accepted for row, tier in pairs) / len(pairs)


def run(given: Any) -> Section:
    """All contestants over the same rows."""
    rows = read()
    contestants: dict[str, Chooser] = {"ours": ours, "balanced always": lambda _: DEFAULT_TIER, "length": by_length}
    notes = [f"Set of {len(rows)} rows, frozen {FROZEN}, SHA-256 {DIGEST[:16]}. {load().capitalize()}."]
    for name, classify in litellm_classes().items():
        contestants[name], way = fairest(classify, [row for row in rows if row.half == TUNING])
        notes.append(f"{name}: its classes, the simplest first, stand for {way}.")
    later = read(LATER)
    shares = (f"{name} {_share([(row, each(row)) for row in later]):.0%}" for name, each in contestants.items())
    notes.append(f"Of {len(later)} rows written after the rules, never tuned for: {', '.join(shares)}.")
    results = {name: measure(each, rows, QUICK_ROUNDS if given.quick else ROUNDS) for name, each in contestants.items()}
    found = {name: figures(rows, result) for name, result in results.items()}
    kept = (
        found["ours"][UNUSED]["accepted"] >= LEAST_ACCEPTED
        and found["ours"]["milliseconds"]["p99"] <= MOST_MILLISECONDS
    )
    notes += ["", *(_by(found, part) for part in ("language", "kind"))]
    return Section("auto tier", tuple(_lines(found)), tuple(notes), kept, {"set": DIGEST, **found})


def _lines(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    parts = [(half, key) for half in (TUNING, UNUSED) for key in ("accepted", "too_dear", "too_cheap")]
    lines = [("chooser", *(f"{half}: {key.replace('_', ' ')}" for half, key in parts), "p50 ms", "p99 ms")]
    for name, each in found.items():
        cells = (f"{each[half][key]:.1%}" if key == "accepted" else f"{each[half][key]:.2f}" for half, key in parts)
        lines.append((name, *cells, *(f"{each['milliseconds'][key]:.3f}" for key in ("p50", "p99"))))
    return lines


def _by(found: Mapping[str, Any], part: str) -> str:
    """Accepted shares of the half `unused`, by language or kind."""
    lines = [(part, *found)]
    for name in found["ours"][UNUSED][part]:
        lines.append((name, *(f"{each[UNUSED][part][name]:.0%}" for each in found.values())))
    return f"{grid(lines)}\n"


if __name__ == "__main__":
    sys.exit(answered(parser("benchmarks.auto_tier", __doc__), None, run))
