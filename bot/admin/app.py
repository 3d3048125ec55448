"""The web application at ADMIN_ADDRESS. Imports Starlette, so it is imported when somebody connects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from bot.admin.health import Health
from bot.admin.loading import Loading
from bot.admin.middleware import HEADERS, LimitedBody, LocalHosts, SecurityHeaders
from bot.admin.services import AdminServices
from handlers.http.addresses import is_loopback

if TYPE_CHECKING:
    from bot.admin.site import Site


def build_app(services: AdminServices) -> Starlette:
    """A new part of it is a module with ROUTES and one entry here. Every route but those of `health` asks for the
    token itself (`bot.admin.access`)."""
    proxy = urlsplit(services.environment.settings.admin_url).hostname or ""
    local = [Middleware(LocalHosts, also=proxy)] if is_loopback(services.host) else []
    app = Starlette(
        routes=[*Health(services).routes(), _metrics_route()],
        exception_handlers={Exception: failed},
        middleware=[Middleware(SecurityHeaders), *local, Middleware(LimitedBody)],
    )
    app.router.redirect_slashes = False
    app.router.default = Pages(services)
    app.state.services = services
    return app


def _metrics_route() -> Route:
    """`/metrics`. Prometheus's library is imported at its first request."""
    loading = Loading(_load_metrics)

    async def metrics(request: Request) -> Response:
        return await (await loading.get())(request)

    return Route("/metrics", metrics)


def _load_metrics() -> Callable[[Request], Awaitable[Response]]:
    """Takes 20 ms and 1.3 MB."""
    from bot.admin.metrics import metrics

    return metrics


class Pages:
    """The admin page, imported and built in a thread at its first request: probes and Prometheus need none of it."""

    def __init__(self, services: AdminServices) -> None:
        self._built = Loading(partial(_build, services))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"].state.site, router = await self._built.get()
        await router(scope, receive, send)


def _build(services: AdminServices) -> tuple[Site, Router]:
    """Takes 0.2 s and 4 MB."""
    from bot.admin import api, pages
    from bot.admin.site import build_site

    return build_site(services), Router([*api.ROUTES, *pages.ROUTES], redirect_slashes=False)


async def failed(request: Request, error: Exception) -> PlainTextResponse:
    """The answer after an unexpected error, which the log has. It does not pass through the middleware."""
    return PlainTextResponse("This page failed. Try again. The log of the bot says why.", 500, HEADERS)
