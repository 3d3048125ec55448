"""Who has reminders and tasks, and when the next one is due; never what they say."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.page_context import PageContext, signed_in
from routing.types.directory import PeopleFilter

PAGE_SIZE = 50


async def reminders(context: PageContext) -> Response:
    """One page of people, those with the next reminder first."""
    pager = context.pager(PAGE_SIZE)
    wanted = PeopleFilter(with_schedules=True)
    found = await context.app.messaging.stores.directory.page(wanted, pager.size, pager.offset)
    return context.render("reminders.html", people=found.people, pager=pager.of(found.total))


ROUTES = (Route("/reminders", signed_in(reminders)),)
