"""Whether the process is alive, and whether it can answer people: for probes of systemd, Docker and monitoring."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.admin.access import services_of


async def healthz(request: Request) -> JSONResponse:
    """200 while the process makes progress."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> JSONResponse:
    """200 once the bot takes messages."""
    ready = services_of(request).app() is not None
    return JSONResponse({"status": "ok" if ready else "starting"}, 200 if ready else 503)


ROUTES = (Route("/healthz", healthz), Route("/readyz", readyz))
