"""The web application at ADMIN_ADDRESS. Imports Starlette, so it is imported when somebody connects."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from bot.admin import api, metrics, pages
from bot.admin.access import is_loopback
from bot.admin.health import Health
from bot.admin.middleware import HEADERS, LimitedBody, LocalHosts, SecurityHeaders
from bot.admin.services import AdminServices
from bot.admin.site import build_site


def build_app(services: AdminServices) -> Starlette:
    """A new part of it is a module with ROUTES and one entry here. Every route but those of `health` asks for the
    token itself (`bot.admin.access`)."""
    proxy = urlsplit(services.environment.settings.admin_url).hostname or ""
    local = [Middleware(LocalHosts, also=proxy)] if is_loopback(services.host) else []
    app = Starlette(
        routes=[*Health(services).routes(), *metrics.ROUTES, *api.ROUTES, *pages.ROUTES],
        exception_handlers={Exception: failed},
        middleware=[Middleware(SecurityHeaders), *local, Middleware(LimitedBody)],
    )
    app.router.redirect_slashes = False
    app.state.services = services
    app.state.site = build_site(services)
    return app


async def failed(request: Request, error: Exception) -> PlainTextResponse:
    """The answer after an unexpected error, which the log has. It does not pass through the middleware."""
    return PlainTextResponse("This page failed. The log of the bot says why.", 500, HEADERS)
