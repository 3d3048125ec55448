"""The doctor's checks, run on demand."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.visits import Visit, signed_in
from bot.ops.doctor import report


async def doctor(visit: Visit) -> Response:
    """The last report."""
    return visit.page("doctor.html", report=visit.site.report)


async def run(visit: Visit) -> Response:
    """Run all checks, which takes some seconds. Only once at a time."""
    last = visit.site.report
    if not last.running:
        last.running = True
        try:
            services = visit.site.services
            last.findings = tuple(await asyncio.to_thread(report, services.environment, services.workspace))
            last.at = visit.now
        finally:
            last.running = False
    if visit.is_fragment:
        return visit.page("doctor_report.html", report=last)
    return visit.redirect("/doctor")


ROUTES = (Route("/doctor", signed_in(doctor)), Route("/doctor", signed_in(run), methods=["POST"]))
