"""The doctor's checks, run on demand."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.page_context import PageContext, signed_in
from bot.ops.doctor import report


async def doctor(context: PageContext) -> Response:
    """The last report."""
    return context.render("doctor.html", report=context.site.report)


async def run(context: PageContext) -> Response:
    """Run all checks, which takes some seconds. Only once at a time."""
    last = context.site.report
    if not last.running:
        last.running = True
        try:
            services = context.site.services
            last.findings = tuple(await asyncio.to_thread(report, services.environment, services.workspace))
            last.at = context.now
        finally:
            last.running = False
    if context.is_fragment:
        return context.render("doctor_report.html", report=last)
    return context.redirect("/doctor")


ROUTES = (Route("/doctor", signed_in(doctor)), Route("/doctor", signed_in(run), methods=["POST"]))
