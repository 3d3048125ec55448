"""Reports how the turns of each tier went."""

from __future__ import annotations

from collections.abc import Sequence

from handlers.languages import Say
from handlers.replies.costs import cost
from routing.types.usage import TurnReport


def tier_report(say: Say, tiers: Sequence[TurnReport]) -> str:
    """One block per tier, with a row for each model that answered."""
    blocks = []
    for tier in tiers:
        rows = [f"- {_name(say, each.model)}: {_row(say, each)}" for each in tier.models]
        blocks.append("\n".join([f"**{tier.tier}**: {_row(say, tier)}", "", *rows]))
    return "\n\n".join(blocks)


def _name(say: Say, model: str) -> str:
    return f"`{model}`" if model else say("no answer")


def _row(say: Say, report: TurnReport) -> str:
    parts = [f"{report.turns}×", f"p50 {_seconds(say, report.p50)}", f"p95 {_seconds(say, report.p95)}"]
    if report.first is not None:
        parts.append(say("first token {seconds}", seconds=_seconds(say, report.first)))
    parts.append(say("fallback {share}", share=_share(report.fallbacks, report)))
    parts.append(say("timeout {share}", share=_share(report.timeouts, report)))
    parts.append(say("escalated {share}", share=_share(report.escalations, report)))
    parts.append(cost(say, report.dollars, report.unknown, bool(report.unknown and not report.dollars)))
    parts += [f"{sign} {n}" for sign, n in (("👍", report.liked), ("👎", report.disliked)) if n]
    return " · ".join(parts)


def _share(part: int, report: TurnReport) -> str:
    return f"{100 * part / report.turns:.0f} %"


def _seconds(say: Say, seconds: float) -> str:
    return f"{say.number(seconds, ',.1f' if seconds < 10 else ',.0f')} s"
