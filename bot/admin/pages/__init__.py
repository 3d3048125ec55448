"""The pages, one module each. Every module has ROUTES."""

from __future__ import annotations

from starlette.routing import Route

from bot.admin.pages import (
    catalogue,
    changes,
    doctor,
    logs,
    overview,
    people,
    playground,
    providers,
    reminders,
    router,
    sign_in,
    tools,
    usage,
)

ROUTES: tuple[Route, ...] = (
    *sign_in.ROUTES,
    *overview.ROUTES,
    *usage.ROUTES,
    *providers.ROUTES,
    *catalogue.ROUTES,
    *router.ROUTES,
    *playground.ROUTES,
    *people.ROUTES,
    *reminders.ROUTES,
    *tools.ROUTES,
    *doctor.ROUTES,
    *logs.ROUTES,
    *changes.ROUTES,
)
