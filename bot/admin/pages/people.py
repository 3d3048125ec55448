"""People by name, with role, spending and limits, and the requests of strangers. Conversations are only counted."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.formatting import person_name
from bot.admin.page_context import PageContext, signed_in
from handlers.access.role_changes import RoleChanges
from handlers.parsing import parse_account
from routing.config.kinds import MAX_DOLLARS
from routing.errors import Refused
from routing.types.budgets import PersonLimits, current
from routing.types.directory import ListedPerson, PeopleFilter
from routing.types.people import ROLES, Role

PAGE_SIZE = 25
DAY = 86_400.0
ACTOR = "admin page"
MAX_ID = 2**53
GONE = "This person no longer exists. Nothing was changed."
DONE: Mapping[Role, str] = {
    "owner": "{name} is an owner now.",
    "admin": "{name} is an admin now.",
    "user": "{name} can use the bot now.",
    "guest": "{name} is a guest now.",
    "blocked": "{name} is blocked.",
}


async def people(context: PageContext) -> Response:
    """One page of people, and who waits. htmx gets the list alone."""
    stores, budget = context.app.messaging.stores, context.app.engine.guard.budget
    role = next((each for each in ROLES if each == context.query("role")), None)
    wanted = PeopleFilter(context.query("q"), role)
    pager = context.pager(PAGE_SIZE)
    found = await stores.directory.page(wanted, pager.size, pager.offset)
    ids = [each.person.id for each in found.people]
    template = "people_list.html" if context.is_fragment else "people.html"
    return context.render(
        template,
        people=found.people,
        pager=pager.of(found.total),
        spent=await stores.spending.of_people(ids, context.now - 30 * DAY),
        limits={each: await budget.limits_of(each) for each in ids},
        waiting=await stores.people.waiting(),
        text=wanted.search,
        role=role or "",
        roles=ROLES,
        counts=await stores.directory.roles(),
        mode=context.app.access.mode,
    )


async def person(context: PageContext) -> Response:
    """One person."""
    found = await _person(context)
    if found is None:
        return context.problem(404, "This person no longer exists.")
    stores, engine = context.app.messaging.stores, context.app.engine
    today = current("day", context.now, engine.models.config.budget.zone)
    settings = await stores.preferences.settings(found.person.id)
    return context.render(
        "person.html",
        person=found,
        roles=ROLES,
        limits=await engine.guard.budget.limits_of(found.person.id),
        usual=engine.models.config.budget.dollars,
        today=await stores.usage.by_model(person_id=found.person.id, since=today.start),
        month=await stores.usage.by_model(person_id=found.person.id, since=context.now - 30 * DAY),
        preferences=await stores.preferences.get(found.person.id),
        zone=settings.time_zone,
        language=settings.language,
    )


async def set_role(context: PageContext) -> Response:
    """Give a person another role."""
    found = await _person(context)
    role = next((each for each in ROLES if each == context.field("role")), None)
    if found is None:
        raise Refused(GONE)
    if role is None:
        raise Refused("The roles are {roles}. Nothing was changed.", roles=", ".join(ROLES))
    if not found.accounts:
        raise Refused("This person has no account any more. Nothing was changed.")
    await _changes(context).give(found.accounts[0], found.person.name, role, ACTOR)
    return context.redirect(f"/people/{found.person.id}", DONE[role].format(name=person_name(found)))


async def set_limits(context: PageContext) -> Response:
    """Set what a person may spend."""
    found = await _person(context)
    if found is None:
        raise Refused(GONE)
    limits = PersonLimits(_amount(context.field("daily")), _amount(context.field("monthly")))
    await context.app.engine.guard.budget.set_limits(found.person.id, limits, ACTOR)
    return context.redirect(f"/people/{found.person.id}", f"The limits of {person_name(found)} are set.")


async def answer_request(context: PageContext) -> Response:
    """Let a stranger in, or block them."""
    user = parse_account(context.field("account"))
    stranger = next((each for each in await context.app.messaging.stores.people.waiting() if each.user == user), None)
    if stranger is None:
        raise Refused("{user} is not waiting any more. Nothing was changed.", user=user)
    role: Role = "user" if context.field("answer") == "allow" else "blocked"
    await _changes(context).give(user, stranger.name, role, ACTOR)
    return context.redirect("/people", DONE[role].format(name=stranger.name or user))


def _changes(context: PageContext) -> RoleChanges:
    app = context.app
    return RoleChanges(app.messaging.stores.people, app.access, app.linking, app.approvals)


async def _person(context: PageContext) -> ListedPerson | None:
    number: int = context.request.path_params["id"]
    return await context.app.messaging.stores.directory.get(number) if number < MAX_ID else None


def _amount(text: str) -> Decimal | None:
    """US dollars; nothing means no personal limit."""
    if not text:
        return None
    try:
        amount = Decimal(text.removeprefix("$").replace(",", "."))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 < amount <= MAX_DOLLARS:
        raise Refused("A limit is a number of US dollars above 0, such as 2.50, or empty. Nothing was changed.")
    return amount


ROUTES = (
    Route("/people", signed_in(people)),
    Route("/people/requests", signed_in(answer_request), methods=["POST"]),
    Route("/people/{id:int}", signed_in(person)),
    Route("/people/{id:int}/role", signed_in(set_role), methods=["POST"]),
    Route("/people/{id:int}/limits", signed_in(set_limits), methods=["POST"]),
)
