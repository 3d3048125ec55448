"""Keeps one server connected while it is configured."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from handlers.tools.mcp.config import Limits, Server
from handlers.tools.mcp.text import shown
from routing.backoff import exponential
from routing.errors import NO_REASON, Reason, ToolFailed
from routing.ports import Clock
from routing.types.people import Role

if TYPE_CHECKING:  # they import the SDK
    from handlers.tools.mcp.listing import Offer
    from handlers.tools.mcp.session import Session

Status = Literal["connected", "connecting", "failed", "disabled"]
CreateSession = Callable[[Server, str], "Awaitable[Session]"]
"""Creates a session for a server and its prefix."""

_WAIT_SECONDS = 5.0
"""How long a call waits for a connection."""
_CANCEL_SECONDS = 20.0
"""A task that has not ended by then is cancelled again, because something inside swallowed the first cancellation."""

log = logging.getLogger("handlers.tools.mcp")


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server's state, for `/tools` and `doctor`. `tools` is the number of its tools, `reason` why it does not work,
    `since` Unix seconds; `warnings` are sentences."""

    name: str
    status: Status
    tools: int
    reason: Reason
    since: float
    role: Role
    warnings: tuple[Reason, ...] = ()


class Connection:
    """Connects to one server in the background, and reconnects whenever the connection is lost."""

    def __init__(
        self,
        server: Server,
        prefix: str,
        create_session: CreateSession,
        changed: Callable[[], None],
        clock: Clock,
        limits: Limits,
    ) -> None:
        self.server = server
        self.prefix = prefix
        self.last_offer: Offer | None = None  # the server may have gone since
        self._create_session = create_session
        self._changed = changed
        self._clock = clock
        self._limits = limits
        self._session: Session | None = None
        self._last_session: Session | None = None
        self._connected = asyncio.Event()
        self._is_offered = False
        self._status: Status = "disabled" if server.disabled else "failed" if server.fault else "connecting"
        self._reason = server.fault
        self._since = clock()
        self._task: asyncio.Task[None] | None = None

    @property
    def offer(self) -> Offer | None:
        """The tools that models may use now. They stay during an immediate reconnect."""
        return self.last_offer if self._is_offered else None

    @property
    def state(self) -> ServerState:
        offer, server = self.offer, self.server
        tools, warnings = (len(offer.tools), offer.warnings) if offer else (0, ())
        return ServerState(server.name, self._status, tools, self._reason, self._since, server.role, warnings)

    def start(self) -> None:
        """Connect in the background."""
        if not (self.server.disabled or self.server.fault):
            self._task = asyncio.create_task(self._run(), name=f"mcp {self.server.name}")

    async def close(self) -> None:
        """Stop the server, which takes a few seconds at most."""
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CANCEL_SECONDS)
        self._is_offered = False

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The result as text. Raises ToolFailed."""
        for _ in range(2):
            if self._session is None and self._status != "failed":
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._connected.wait(), _WAIT_SECONDS)
            session = self._session
            if session is None:
                break
            text = await session.call(tool, arguments)
            if text is not None:
                return text
            self._lose(session)
        raise ToolFailed(
            f"The MCP server {self.server.name} is not connected at the moment. The bot keeps trying; go on "
            f"without {shown(tool)}, and say so."
        )

    async def _run(self) -> None:
        failures, legacy = 0, False
        while True:
            began = monotonic()
            try:
                session = await self._create_session(self.server, self.prefix)
            except ImportError as missing:
                words = "the package mcp can't be imported ({error})"
                return self._set_status("failed", Reason(words, error=missing))
            try:  # in a separate task, because the SDK may take a cancellation for its own
                [error] = await asyncio.gather(
                    session.run(partial(self._publish, session), legacy), return_exceptions=True
                )
            finally:
                self._lose(session)
            was_connected = self._last_session is session
            is_steady = was_connected and monotonic() - began >= self._limits.steady_seconds
            failures = 1 if is_steady else failures + 1
            legacy = legacy if was_connected else not legacy
            reason = session.reason(error)
            if session.is_bug(error) and reason != self._reason:
                log.error("[MCP] %s: the connection failed", self.server.name, exc_info=error)
            self._set_status("connecting" if was_connected and failures == 1 else "failed", reason)
            await asyncio.sleep(self._delay(failures))

    def _delay(self, failures: int) -> float:
        longest = exponential(failures, self._limits.first_delay, self._limits.longest_delay)
        return random.uniform(longest / 2, longest)

    def _lose(self, session: Session) -> None:
        if self._session is session:
            self._session = None
            self._connected.clear()

    def _publish(self, session: Session, offer: Offer) -> None:
        self._session = self._last_session = session
        if self.last_offer is None or self.last_offer.digest != offer.digest:
            self.last_offer = offer
        self._set_status("connected", NO_REASON)
        self._connected.set()

    def _set_status(self, status: Status, reason: Reason) -> None:
        if (status, reason) != (self._status, self._reason) and status != "connecting":
            log.info("[MCP] %s: %s%s", self.server.name, status, f" ({reason})" if reason else "")
        if status != self._status:
            self._since = self._clock()
        self._status, self._reason = status, reason
        self._is_offered = status == "connected" or (status == "connecting" and self._is_offered)
        self._changed()
