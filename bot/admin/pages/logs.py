"""The newest lines of the log, without secrets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.page_context import PageContext, signed_in
from bot.observability.logs import MAX_RECENT, recent_lines
from routing.redaction import Secrets

LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
MAX_SEARCH = 100


async def logs(context: PageContext) -> Response:
    """The lines from a level on that contain a text, newest first. htmx gets the list alone."""
    level = context.query("level", "info")
    level = level if level in LEVELS else "info"
    text = context.query("q")[:MAX_SEARCH]
    profiles, services = context.app.engine.models.config.profiles, context.site.services
    keys = (profile.api_key for profile in profiles.values() if profile.api_key)
    secrets = (*services.environment.secrets(), *keys, services.token)
    lines = await asyncio.to_thread(_lines, LEVELS[level], text.casefold(), secrets)
    template = "logs_list.html" if context.is_fragment else "logs.html"
    return context.render(template, lines=lines, level=level, levels=LEVELS, text=text, most=MAX_RECENT)


def _lines(level: int, text: str, secrets: Iterable[str]) -> list[tuple[int, str]]:
    """Levels and lines, newest first. Lines were masked when they were written; a secret may have become known since,
    so known ones are hidden again."""
    known = Secrets(secrets)
    found = ((line.level, known.hidden(line.text)) for line in reversed(recent_lines()) if line.level >= level)
    return [(number, line) for number, line in found if text in line.casefold()]


ROUTES = (Route("/logs", signed_in(logs)),)
