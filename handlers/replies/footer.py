"""Lines below an answer: fallbacks and their reasons and, if enabled, tier, model, time and cost."""

from __future__ import annotations

from collections.abc import Iterator

from handlers.context import CommandContext
from handlers.replies.budget_limits import over_budget_notice
from handlers.replies.costs import dollars
from handlers.replies.outcome import reason
from routing.policy.models import Models
from routing.types.decisions import Obstacle
from routing.types.model_names import provider_of
from routing.types.turns import Outcome
from routing.types.usage import known_cost

PASSED: dict[Obstacle, str] = {
    "key": "has no key ({variable})",
    "cooldown": "asked for a pause",
    "breaker": "is paused after repeated errors ({reason})",
    "slow": "is slow right now",
    "vision": "can't see pictures",
    "tools": "can't use tools",
    "window": "can't read that much at once",
}
NOTHING_SAID = "reached its length limit without an answer"


def fallback_lines(ask: CommandContext, outcome: Outcome, models: Models) -> list[str]:
    """Says that a fallback model answered, and that a budget was exceeded. Always shown."""
    lines = (
        []
        if outcome.over is None or outcome.completion is None or outcome.limit is not None
        else [over_budget_notice(ask, outcome.over, outcome.choice.source == "cheapest")]
    )
    reasons = [*_passed(ask, outcome, models), *_failed(ask, outcome)]
    if not reasons:
        return lines
    joined, model = "; ".join(reasons), f"`{outcome.choice.model}`"
    if outcome.completion is not None and outcome.completion.text.strip():
        return [*lines, ask.say("↪ {model} answered: {reasons}.", model=model, reasons=joined)]
    return [*lines, ask.say("↪ Tried before: {reasons}.", reasons=joined)]


def footer(ask: CommandContext, outcome: Outcome) -> str:
    """Tier, model, seconds and cost. Unknown prices are marked."""
    level = f" {outcome.choice.reasoning}" if outcome.choice.reasoning else ""
    known = known_cost(outcome.calls)
    unknown = [call for call in outcome.calls if call.usage is None or call.usage.cost is None]
    cost = (
        ask.say("price unknown")
        if len(unknown) == len(outcome.calls)
        else f"{ask.say.number(dollars(known))}{'+' if unknown else ''}"
    )
    why = f" ({', '.join(map(ask.say, outcome.decision.signals))})" if outcome.decision.signals else ""
    took = ask.say.number(outcome.seconds, ".1f")
    return f"`{outcome.decision.tier}{why} · {outcome.choice.model}{level} · {took} s · {cost}`"


def _passed(ask: CommandContext, outcome: Outcome, models: Models) -> Iterator[str]:
    """The skipped models. `_failed` reports those that failed in this turn."""
    failed = {each.model for each in outcome.failed}
    for each in outcome.choice.instead_of:
        if each.model not in failed:
            variable = models.config.profile(provider_of(each.model)).variable
            yield f"`{each.model}` {ask.say(PASSED[each.why], variable=variable, reason=each.reason)}"


def _failed(ask: CommandContext, outcome: Outcome) -> Iterator[str]:
    for each in outcome.failed:
        why = reason(ask, each.reason, each.raw) if each.reason else ask.say(NOTHING_SAID)
        yield f"`{each.model}`: {why}"
