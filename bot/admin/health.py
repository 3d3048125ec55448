"""Whether the process is alive, and whether it can answer people: for probes of systemd, Docker and monitoring."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.admin.services import AdminServices
from bot.ops.systemd import stuck
from routing.errors import StorageFault

WRITE_SECONDS = 5.0
"""A database that takes longer for one write is no use. Also the time for which the result of a test write counts."""
STATE_KEY = "readiness"


class Health:
    """The two probes. Neither needs a token, so they name no person and no address."""

    def __init__(self, services: AdminServices) -> None:
        self._services = services
        self._messaging = services.messaging
        self._fault = ""
        self._tested_at = float("-inf")
        self._testing = asyncio.Lock()

    def routes(self) -> Sequence[Route]:
        return (Route("/healthz", self.healthz), Route("/readyz", self.readyz))

    async def healthz(self, request: Request) -> JSONResponse:
        """200 while the event loop runs and every platform makes progress, as the watchdog sees it; else 503."""
        silent = stuck(self._messaging.platforms.values(), self._messaging.steady())
        return _answer([f"{name} has made no progress for {seconds:.0f} s." for name, seconds in silent])

    async def readyz(self, request: Request) -> JSONResponse:
        """200 if messages can be received, answered and saved; else 503 and what is missing."""
        reasons = []
        if self._services.app() is None:
            reasons.append("The bot is starting or stopping.")
        reasons += map(str, self._messaging.refused)
        for name, platform in self._messaging.platforms.items():
            if problem := platform.progress.problem:
                reasons.append(f"{name}: {problem}.")
            elif not platform.progress.last_step:
                reasons.append(f"{name} is not connected yet.")
        if fault := await self._write_fault():
            reasons.append(f"The database can't be written: {fault}.")
        return _answer(reasons)

    async def _write_fault(self) -> str:
        """Why the database can't be written; empty if it can."""
        async with self._testing:
            now = self._messaging.steady()
            if now - self._tested_at >= WRITE_SECONDS:
                self._fault = await self._write()
                self._tested_at = now
        return self._fault

    async def _write(self) -> str:
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self._messaging.stores.state.put(STATE_KEY, f"{self._messaging.clock():.0f}")
        except StorageFault as fault:
            return str(fault)
        except TimeoutError:
            return f"no answer within {WRITE_SECONDS:.0f} s"
        return ""


def _answer(reasons: Sequence[str]) -> JSONResponse:
    if reasons:
        return JSONResponse({"status": "unavailable", "reasons": list(reasons)}, 503)
    return JSONResponse({"status": "ok"})
