"""Figures → tables: ranks, ways to show tools, answers of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.bench_tools.calls import Score
from benchmarks.bench_tools.ranking import Ranking
from benchmarks.bench_tools.recall import KS, Row, recall_at
from benchmarks.bench_tools.strategies import default
from benchmarks.bench_tools.tokenizer import ENCODING
from benchmarks.reporting.intervals import Interval, mean, proportion
from benchmarks.reporting.section import VERDICTS, Section
from routing.types.decisions import SIZES

SMALLEST = SIZES[0]
MAX_TOKENS = 800
"""For the smallest class, of eighty tools."""
NONE = "–"
_CONFIDENCE = "In brackets 95 % confidence: Wilson's for shares, a bootstrap with a fixed seed for means."


def ranks(by_form: Mapping[str, Sequence[Ranking]]) -> Section:
    """Where the right tool stands among all, by the form of the catalogue."""
    lines = [("catalogue", "mean rank", *(f"recall@{k}" for k in KS), "right one selected")]
    figures: dict[str, Any] = {}
    for form, found in by_form.items():
        selected = proportion([bool({each.prompt.tool, each.prompt.family} & each.chosen) for each in found])
        mean_rank = mean([float(each.rank()) for each in found])
        recalls = {k: recall_at(found, k) for k in KS}
        lines.append((form, text(mean_rank, 1), *map(text, recalls.values()), text(selected)))
        figures[form] = {
            "rank": mean_rank,
            "selected": selected,
            **{f"recall@{k}": each for k, each in recalls.items()},
        }
    notes = (
        f"{len(next(iter(by_form.values())))} prompts, no examples but those of our own tools. {_CONFIDENCE}",
        '"Selected" is the right family where families are chosen, else the right tool.',
    )
    return Section("ranks", tuple(lines), notes, True, figures)


def ways(rows: Sequence[Row]) -> Section:
    """What each way costs and finds; the verdict is on what the bot does for the smallest class."""
    headings = ("class", "way", "definitions", "tokens by rule", f"tokens, {ENCODING}", "most", "")
    shares = ("right tool shown", "or named", "P(family)", "P(tool | family)")
    lines: list[tuple[str, ...]] = [(*headings, *shares)]
    for row in rows:
        ours = row.way == default(row.size)
        lines.append(
            (
                *(row.size, f"{row.way} ◂" if ours else row.way, f"{row.tools.value:.1f}"),
                *(f"{row.estimate.value:.0f}", NONE if row.tokens is None else f"{row.tokens.value:.0f}"),
                *(str(row.most_tokens), VERDICTS[_kept(row)]),
                *(text(row.parts.tool), text(row.reachable), text(row.parts.family), text(row.parts.within)),
            )
        )
    notes = (
        f"◂ is what the bot does for the class: the tools stand beside those that it has anyway, which are among the "
        f"definitions. For {SMALLEST} no prompt may cost more than {MAX_TOKENS} tokens. "
        "Tokens are means over the prompts, of definitions and the sentence about them; providers write definitions "
        "in forms of their own. P(tool shown) = P(any tool of the right family shown) × P(right tool | that).",
        "Published for these tools, with longer schemas: all in full 8,761 tokens, 8 + stubs 3,250, top 8 + names 728, "
        "top 5 + discovery 378.",
    )
    kept = all(_kept(row) is not False for row in rows)
    return Section("ways", tuple(lines), notes, kept, {"rows": rows})


def answers(scores: Sequence[Score], model: str, size: str) -> Section:
    """What a model called."""
    headings = ("way", "right tool", "P(family)", "P(tool | family)", "no call", "looked for more", "invented")
    lines: list[tuple[str, ...]] = [(*headings, "tokens read", "seconds")]
    for each in scores:
        lines.append(
            (
                *(each.way, text(each.parts.tool), text(each.parts.family), text(each.parts.within)),
                *(text(each.silent), text(each.discovering), text(each.invented)),
                *(NONE if each.tokens is None else f"{each.tokens.value:.0f}", f"{each.seconds.value:.2f}"),
            )
        )
    note = f"{model}, class {size}, temperature 0, one request at a time; the first call counts. {_CONFIDENCE}"
    return Section("answers", tuple(lines), (note,), True, {"model": model, "size": size, "scores": scores})


def text(interval: Interval | None, digits: int = 2) -> str:
    """A cell."""
    return NONE if interval is None else interval.text(digits)


def _kept(row: Row) -> bool | None:
    """None where there is no limit."""
    if row.size != SMALLEST or row.way != default(row.size):
        return None
    return row.most_tokens <= MAX_TOKENS
