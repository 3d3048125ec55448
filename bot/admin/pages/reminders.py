"""Who has reminders and tasks, and when the next one is due; never what they say."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.page_context import PageContext, signed_in
from routing.types.directory import PeopleFilter

PAGE_SIZE = 50
MAX_PAGE = 100_000


async def reminders(context: PageContext) -> Response:
    """One page of people, those with the next reminder first."""
    at = context.number("page", 1, MAX_PAGE)
    wanted = PeopleFilter(with_schedules=True)
    found = await context.app.messaging.stores.directory.page(wanted, PAGE_SIZE, PAGE_SIZE * (at - 1))
    return context.render(
        "reminders.html", people=found.people, total=found.total, number=at, pages=-(-found.total // PAGE_SIZE)
    )


ROUTES = (Route("/reminders", signed_in(reminders)),)
