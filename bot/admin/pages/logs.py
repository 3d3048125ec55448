"""The newest lines of the log, without secrets."""

from __future__ import annotations

import logging

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.page_context import PageContext, signed_in
from bot.logs import MAX_RECENT, Redactor, recent_lines

LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
MAX_SEARCH = 100


async def logs(context: PageContext) -> Response:
    """The lines from a level on that contain a text, newest first. htmx gets the list alone."""
    level = context.query("level", "info")
    level = level if level in LEVELS else "info"
    text = context.query("q")[:MAX_SEARCH]
    app = context.app
    keys = (profile.api_key for profile in app.engine.models.config.profiles.values() if profile.api_key)
    redactor = Redactor((*context.site.services.environment.secrets(), *keys, context.site.services.token))
    found = (
        (line.level, redactor.clean(line.text))  # a key may have become known after the line was written
        for line in reversed(recent_lines())
        if line.level >= LEVELS[level]
    )
    lines = [(number, line) for number, line in found if text.casefold() in line.casefold()]
    template = "logs_list.html" if context.is_fragment else "logs.html"
    return context.render(template, lines=lines, level=level, levels=LEVELS, text=text, most=MAX_RECENT)


ROUTES = (Route("/logs", signed_in(logs)),)
