"""Usage by day, tier, model and person."""

from __future__ import annotations

from operator import attrgetter

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.charts import usage_chart
from bot.admin.page_context import PageContext, signed_in
from handlers.replies.charts import Measure
from routing.types.budgets import days

PERIODS = (7, 30, 90)
MAX_PEOPLE, MAX_MODELS = 20, 30


async def usage(context: PageContext) -> Response:
    """The chart and tables for 7, 30 or 90 days."""
    stores, models = context.app.messaging.stores, context.app.engine.models
    count = next((each for each in PERIODS if each == context.number("days", 30, 90)), 30)
    measure: Measure = "tokens" if context.query("by") == "tokens" else "cost"
    stretches = days(context.now, count, models.config.budget.zone)
    since = stretches[0].start
    by_model = sorted(await stores.usage.by_model(since=since), key=attrgetter(measure), reverse=True)
    people = await stores.spending.by_person(since, MAX_PEOPLE)
    history = await stores.spending.by_day(stretches)
    return context.render(
        "usage.html",
        days=count,
        periods=PERIODS,
        measure=measure,
        history=[each for each in reversed(history) if each.models],
        chart=usage_chart(history, measure),
        tiers=[(each.tier, each.spent, "") for each in await stores.spending.by_tier(since)],
        turns=await stores.turns.by_tier(since),
        models=[(each.model, each, "") for each in by_model[:MAX_MODELS]],
        people=[(each.name or f"person {each.person_id}", each.spent, f"/people/{each.person_id}") for each in people],
        max_people=MAX_PEOPLE,
    )


ROUTES = (Route("/usage", signed_in(usage)),)
