"""Measures how well `/tier auto` chooses: `python -m benchmarks.auto_tier`.

The set was frozen before any rule was made, and its half `unused` is only evaluated in totals. The author of the rules
wrote both halves, which flatters the result. The rows of a later, smaller set were written after the rules, but have
been looked at since. The fresh set was written before the weights were trained and is only evaluated in totals, so it
shows the accuracy on unseen sentences. The held-out set has long, polite, narrated, pasted, dictated and misspelt
messages in 31 languages; it was written before the rows of `auto_tier_training.tsv`, and is only evaluated in sums. A
second author, who knew neither rules nor rows, wrote the last set; only its half `unused` is reported.
Baselines: LiteLLM's complexity heuristics, balanced always, and length alone; also ours without the phrases, without
the classifier, and (`--e5`) with the vectors of EMBEDDINGS=e5. LiteLLM's classes are mapped to tiers in the way that is
best for the half `tuning`: the best of all monotonic mappings, with or without coding for detected code. It gets only
the text, because it does not use earlier turns.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.auto_tier_litellm import RISING, fairest, litellm_classes
from benchmarks.reporting.section import STANDARD_OUTPUT, Section, answered, grid, load, parser, percentile, write
from routing.policy.auto.chooser import Chooser, default_chooser
from routing.policy.auto.phrases import Phrases
from routing.policy.auto.vector_classifier import VectorClassifier
from routing.tools.selector import MAX_CHARACTERS
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier

SET = Path(__file__).parent / "data" / "auto_tier.jsonl"
LATER, FRESH, HELD_OUT, SECOND_AUTHOR, THIRD_AUTHOR = LATER_SETS = tuple(
    SET.with_name(f"auto_tier_{name}.jsonl") for name in ("later", "fresh", "heldout", "second_author", "third_author")
)
FROZEN = "2026-11-22"
DIGEST = "122224cb1b443e6ee78b0c91172acd9627811c086bdac057e52a120a3ab0edc1"
FRESH_DIGEST = "93375effcd5bdd240f68c6ff5edf9675b07eca14c25e4e3a3d8b241d8ec84cc8"
HELD_OUT_DIGEST = "c4e104925d4eb1c2dfb2ae146da29afac8364f64fbf59dc1bc3bafe84a2a36d8"
SECOND_AUTHOR_DIGEST = "033ebc65699b58e9478db8bfdc5c4044c85d65e266f0e709ca015a8c30cf47fa"
THIRD_AUTHOR_DIGEST = "6bdd35e0579d05e19d7bb3c2a70a5311207a152cbc52aa404d6c5cb100c07319"
MIN_ACCEPTED, MAX_MILLISECONDS = 0.9, 1.0

PRICES: Mapping[Tier, int] = {"balanced": 1, "smart": 3, "coding": 3, "deep": 5}
"""List prices of the default models of one vendor, as multiples of balanced."""
TUNING, UNUSED = "tuning", "unused"
WITH_E5 = "ours with e5"
WARM_UP, ROUNDS, QUICK_ROUNDS = 20, 5, 1
EXAMPLE = '{"text": "hi", "lang": "en", "accept": ["balanced"], "previous": []}'
"""A row for `--rows`; `lang` and `previous` may be left out."""
SHORT, LONG = 60, 400
"""Length in characters above which length alone chooses smart, and then deep."""


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
        """By a stable hash of the text, so that a row never changes halves."""
        return UNUSED if hashlib.sha256(self.text.encode()).digest()[0] % 2 else TUNING


Classify = Callable[[Row], Tier]


@dataclass(frozen=True, slots=True)
class Result:
    """The tier chosen for each row, and the milliseconds of each call."""

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
    return chosen_by(default_chooser())(row)


def parts() -> Mapping[str, Classify]:
    """Our chooser without one part."""
    whole = default_chooser()
    return {
        "phrases alone": chosen_by(Chooser(whole.phrases, None)),
        "classifier alone": chosen_by(Chooser(Phrases([]), whole.classifier)),
    }


def chosen_by(chooser: Chooser) -> Classify:
    def classify(row: Row) -> Tier:
        return chooser.choose(row.text, previous=row.previous, had_code=row.had_code, pictures=row.pictures).tier

    return classify


def with_vectors() -> Classify:
    """Our chooser with the vectors of e5, computed in this process. Raises RuntimeError if e5 is not installed."""
    from routing.tools.embedding import e5
    from routing.tools.embedding.rows import unit

    chooser, classifier, encode = default_chooser(), VectorClassifier.load(), e5.load()

    def classify(row: Row) -> Tier:
        choose = partial(chooser.choose, row.text, previous=row.previous, had_code=row.had_code, pictures=row.pictures)
        found = choose()
        if found.unsure:
            vector = unit(encode([row.text[:MAX_CHARACTERS]]), 1)[0]
            found = choose(by_vector=classifier.predict(vector.tolist()))
        return found.tier

    return classify


def _of_text(tier_of: Callable[[str], Tier], row: Row) -> Tier:
    return tier_of(row.text)


def by_length(row: Row) -> Tier:
    return RISING[(len(row.text) > SHORT) + (len(row.text) > LONG)]


def measure(classify: Classify, rows: Sequence[Row], rounds: int) -> Result:
    """Classifies every row. Times are the best of `rounds`, to exclude other programs."""
    for row in rows[:WARM_UP]:
        classify(row)
    chosen: list[Tier] = []
    times: list[float] = []
    for row in rows:
        spent = []
        for _ in range(rounds):
            began = time.perf_counter()
            tier = classify(row)
            spent.append((time.perf_counter() - began) * 1e3)
        chosen.append(tier)
        times.append(min(spent))
    return Result(chosen, times)


def error(tier: Tier, accepted: Sequence[Tier]) -> tuple[int, int]:
    """How much more expensive and how much cheaper than any accepted tier, in prices of balanced. The wrong one of two
    tiers with the same price counts 1 as too cheap."""
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
    """All choosers over the same rows."""
    rows = read()
    contestants: dict[str, Classify] = {"ours": ours, **parts()}
    if getattr(given, "e5", False):
        contestants[WITH_E5] = with_vectors()
    contestants |= {"balanced always": lambda _: DEFAULT_TIER, "length": by_length}
    notes = [f"Set of {len(rows)} rows, frozen {FROZEN}, SHA-256 {DIGEST[:16]}. {load().capitalize()}."]
    for name, classify in litellm_classes().items():
        tier_of, way = fairest(classify, [(row.text, row.accepted) for row in rows if row.half == TUNING])
        contestants[name] = partial(_of_text, tier_of)
        notes.append(f"{name}: its classes, the simplest first, stand for {way}.")
    notes += [f"Of {len(later)} rows in {path.stem}: {shares}." for path, later, shares in _newer(contestants)]
    results = {
        name: measure(each, rows, QUICK_ROUNDS if given.quick or name == WITH_E5 else ROUNDS)
        for name, each in contestants.items()
    }
    found = {name: figures(rows, result) for name, result in results.items()}
    kept = (
        found["ours"][UNUSED]["accepted"] >= MIN_ACCEPTED and found["ours"]["milliseconds"]["p99"] <= MAX_MILLISECONDS
    )
    notes += ["", *(_table(found, part) for part in ("language", "kind"))]
    return Section("auto tier", tuple(_lines(found)), tuple(notes), kept, {"set": DIGEST, **found})


def _newer(contestants: Mapping[str, Classify]) -> Iterator[tuple[Path, Sequence[Row], str]]:
    """The totals of the sets that were written later; nothing about a single row."""
    for path in LATER_SETS:
        rows = [row for row in read(path) if path != SECOND_AUTHOR or row.half == UNUSED]
        shares = (f"{name} {_share([(row, each(row)) for row in rows]):.0%}" for name, each in contestants.items())
        yield path, rows, ", ".join(shares)


def _lines(found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    parts = [(half, key) for half in (TUNING, UNUSED) for key in ("accepted", "too_dear", "too_cheap")]
    lines = [("chooser", *(f"{half}: {key.replace('_', ' ')}" for half, key in parts), "p50 ms", "p99 ms")]
    for name, each in found.items():
        cells = (f"{each[half][key]:.1%}" if key == "accepted" else f"{each[half][key]:.2f}" for half, key in parts)
        lines.append((name, *cells, *(f"{each['milliseconds'][key]:.3f}" for key in ("p50", "p99"))))
    return lines


def _table(found: Mapping[str, Any], part: str) -> str:
    """Accepted shares of the half `unused`, by language or kind."""
    lines = [(part, *found)]
    for name in found["ours"][UNUSED][part]:
        lines.append((name, *(f"{each[UNUSED][part][name]:.0%}" for each in found.values())))
    return f"{grid(lines)}\n"


def judged(path: Path, classify: Classify = ours) -> dict[str, Any]:
    """Classifies the rows of a file: the tier of each, the share accepted, also by the first accepted tier, the share
    with a cheaper tier than any accepted one, and milliseconds per row. Raises OSError, or ValueError with the line of
    a bad row."""
    rows = []
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(_row(json.loads(line)))
        except (ValueError, KeyError, TypeError, RecursionError) as fault:
            raise ValueError(
                f"line {number} is not a row such as {EXAMPLE}; the tiers are {', '.join(TIERS)}"
            ) from fault
    if not rows:
        raise ValueError(f"the file has no rows; a row is a line such as {EXAMPLE}")
    result = measure(classify, rows, ROUNDS)
    pairs = list(zip(rows, result.chosen, strict=True))
    by_tier = {tier: [pair for pair in pairs if pair[0].accepted[0] == tier] for tier in TIERS}
    return {
        "accepted": _share(pairs),
        "too_low": sum(tier not in row.accepted and error(tier, row.accepted)[1] > 1 for row, tier in pairs)
        / len(pairs),
        "by_tier": {tier: _share(mine) for tier, mine in by_tier.items() if mine},
        "rows": [{"text": row.text, "tier": tier} for row, tier in zip(rows, result.chosen, strict=True)],
        "p50_ms": percentile(result.milliseconds, 0.5),
        "p99_ms": percentile(result.milliseconds, 0.99),
    }


def _row(given: Any) -> Row:
    """A row of a user's file. Raises ValueError, KeyError or TypeError if it is not like EXAMPLE."""
    text, accepted, previous = given["text"], tuple(given["accept"]), tuple(given.get("previous", ()))
    if not isinstance(text, str) or not accepted or not {*accepted, *previous} <= {*TIERS}:
        raise ValueError
    return Row(text, accepted, given.get("lang", ""), "", previous, had_code=previous[-1:] == ("coding",))


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept, or the rows of a file were judged; 1: a limit is not kept; 2: there are no such rows."""
    options = parser("benchmarks.auto_tier", __doc__)
    options.add_argument(
        "--rows", type=Path, metavar="FILE", help=f"judge the lines of FILE instead, such as {EXAMPLE}"
    )
    options.add_argument("--e5", action="store_true", help="also measure EMBEDDINGS=e5; with --rows, measure only that")
    given = options.parse_args(arguments)
    if given.rows is None:
        try:
            return answered(options, arguments, run)
        except RuntimeError as fault:
            options.exit(2, f"{fault}.\n")
    try:
        found = judged(given.rows, with_vectors() if given.e5 else ours)
    except RuntimeError as fault:
        options.exit(2, f"{fault}.\n")
    except OSError as fault:
        options.exit(2, f"{given.rows} can't be read: {fault.strerror}.\n")
    except ValueError as fault:
        options.exit(2, f"{given.rows}: {fault}.\n")
    if given.json is not None:
        write(json.dumps(found, ensure_ascii=False), given.json)
    if given.json != STANDARD_OUTPUT:
        print(
            f"accepted {found['accepted']:.1%} of {len(found['rows'])}, too low {found['too_low']:.1%}, "
            + ", ".join(f"{tier} {share:.0%}" for tier, share in found["by_tier"].items())
            + f"; p50 {found['p50_ms']:.3f} ms, p99 {found['p99_ms']:.3f} ms"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
