"""The overview: whether all is well, today's answers and money."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.charts import usage_chart
from bot.admin.formatting import plural, sentence
from bot.admin.page_context import PageContext, signed_in
from handlers.replies.duration import format_duration
from routing.ports import Facts
from routing.types.budgets import current, days
from routing.types.people import Preferences
from routing.types.tiers import TIERS

CHART_DAYS = 14
FAILURE_SECONDS = 24 * 3600.0
MAX_FAILURES = 8


@dataclass(frozen=True, slots=True)
class Problem:
    """What happened, and the page where to do something about it."""

    text: str
    path: str
    action: str


async def overview(context: PageContext) -> Response:
    """Everything that an owner wants to know first."""
    app, now = context.app, context.now
    stores, models = app.messaging.stores, app.engine.models
    zone = models.config.budget.zone
    today = current("day", now, zone)
    facts = await app.engine.health.facts()
    turns = await stores.turns.by_tier(today.start)
    history = await stores.spending.by_day(days(now, CHART_DAYS, zone))
    waiting = await stores.people.waiting()
    spent = history[-1].models
    return context.render(
        "overview.html",
        facts=facts,
        problems=[*_problems(context, facts), *_waiting(len(waiting))],
        answers=sum(each.turns for each in turns),
        unanswered=sum(each.unanswered for each in turns),
        fallbacks=sum(each.fallbacks for each in turns),
        timeouts=sum(each.timeouts for each in turns),
        slowest=max((each.p95 for each in turns), default=None),
        turns=turns,
        cost=sum(each.cost for each in spent),
        unknown=sum(each.unknown for each in spent),
        limit=models.config.budget.dollars.get(("all", "day")),
        tokens=sum(each.input_tokens + each.output_tokens for each in spent),
        people=sum((await stores.directory.roles()).values()),
        chart=usage_chart(history),
        zone=zone.key,
    )


def _waiting(count: int) -> Iterator[Problem]:
    if count:
        yield Problem(f"{plural(count, 'person is', 'people are')} waiting to be let in.", "/people", "Answer them")


def _problems(context: PageContext, facts: Facts) -> Iterator[Problem]:
    if facts.config_fault is not None:
        words = f"{sentence(facts.config_fault)} The last valid configuration stays in use."
        yield Problem(words, "/changes", "See the last changes")
    for name, link in facts.links:
        if link.problem:
            yield Problem(f"{name.capitalize()} has a problem: {sentence(link.problem)}", "/logs", "Read the log")
        elif not link.up_since:
            yield Problem(f"{name.capitalize()} is not connected yet.", "/logs", "Read the log")
    if facts.dead:
        words = f"{plural(facts.dead, 'reply', 'replies')} could not be delivered."
        yield Problem(words, "/logs", "Read the log")
    yield from _model_problems(context, facts)
    yield from _tool_problems(context)


def _model_problems(context: PageContext, facts: Facts) -> Iterator[Problem]:
    models, now = context.app.engine.models, facts.now
    local = [tier for tier in TIERS if models.configured(tier, Preferences()).source == "local"]
    if local:
        yield Problem(f"The demo model answers for {', '.join(local)}: there is no key.", "/providers", "Add a key")
    recent = [each for each in facts.failures if now - each[2] <= FAILURE_SECONDS]
    for model, reason, at in recent[:MAX_FAILURES]:
        words = f"{model} failed {format_duration(now - at)} ago: {reason}."
        yield Problem(words, "/router", "Look at its tiers")
    for (model, _), breaker in models.health.breakers.statuses().items():
        words = f"{model} is paused for {format_duration(breaker.until - now)} after repeated errors: {breaker.why}."
        yield Problem(words, "/router", "Look at its tiers")


def _tool_problems(context: PageContext) -> Iterator[Problem]:
    tooling = context.app.engine.tooling
    failed = [state.name for state in tooling.mcp.states() if state.status == "failed"]
    if failed or tooling.mcp.problems():
        yield Problem(f"MCP servers with errors: {', '.join(failed) or 'mcp.json'}.", "/tools", "See why")
    if broken := tooling.toolkits.broken:
        yield Problem(f"{plural(len(broken), 'toolkit file')} can't be read.", "/tools", "See why")


ROUTES = (Route("/", signed_in(overview)),)
