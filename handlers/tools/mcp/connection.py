"""Keeps one server connected, in a task of its own, for as long as it is configured."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from handlers.tools.mcp.faults import Forgotten
from handlers.tools.mcp.limits import Limits
from handlers.tools.mcp.offers import Offer
from handlers.tools.mcp.servers import Server
from handlers.tools.mcp.texts import shown
from routing.errors import ToolFailed
from routing.ports import Clock
from routing.types.people import Role

if TYPE_CHECKING:  # it imports the SDK
    from handlers.tools.mcp.session import Session

Status = Literal["connected", "connecting", "failed", "disabled"]
Dial = Callable[[Server, str, Collection[str], Limits], "Awaitable[Session]"]
"""Makes a session, given a server, its prefix, and the names that are taken."""

_PATIENCE_SECONDS = 5.0
"""A call waits so long for a connection that is being made."""
_CANCELLED_SECONDS = 20.0
"""A task that did not end by then is cancelled again: somebody between took the first for their own."""
_MOST_DOUBLED = 20


log = logging.getLogger("handlers.tools.mcp")


@dataclass(frozen=True, slots=True)
class ServerState:
    """For `/tools` and `doctor`. `tools` is how many are offered, `reason` why it does not work, `since` Unix seconds;
    `warnings` are what it does wrongly, in sentences."""

    name: str
    status: Status
    tools: int
    reason: str
    since: float
    role: Role
    warnings: tuple[str, ...] = ()


class Connection:
    """One server: connects in the background, says how it stands, and connects again for ever."""

    def __init__(
        self,
        server: Server,
        prefix: str,
        taken: Collection[str],
        dial: Dial,
        changed: Callable[[], None],
        clock: Clock,
        limits: Limits,
    ) -> None:
        self.server = server
        self.prefix = prefix
        self.offer: Offer | None = None
        """The last one; the server may be gone since."""
        self._taken = taken
        self._dial = dial
        self._changed = changed
        self._clock = clock
        self._limits = limits
        self._session: Session | None = None
        self._last: Session | None = None
        """The last one that was connected."""
        self._up = asyncio.Event()
        self._offered = False
        self._status: Status = "disabled" if server.disabled else "failed" if server.fault else "connecting"
        self._reason = server.fault
        self._since = clock()
        self._task: asyncio.Task[None] | None = None

    @property
    def offered(self) -> Offer | None:
        """What may be shown to models now. It stays while a connection that was lost is made again at once."""
        return self.offer if self._offered else None

    @property
    def state(self) -> ServerState:
        tools = len(self.offer.tools) if self.offer and self._offered else 0
        warnings = self.offer.warnings if self.offer and self._offered else ()
        server = self.server
        return ServerState(server.name, self._status, tools, self._reason, self._since, server.role, warnings)

    def start(self) -> None:
        """Returns at once."""
        if not (self.server.disabled or self.server.fault):
            self._task = asyncio.create_task(self._run(), name=f"mcp {self.server.name}")

    async def close(self) -> None:
        """Until the server is gone; bounded by the seconds that a child gets to end."""
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CANCELLED_SECONDS)
        self._offered = False

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The result as text. Raises ToolFailed."""
        for _ in range(2):
            if self._session is None and self._status != "failed":
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._up.wait(), _PATIENCE_SECONDS)
            session = self._session
            if session is None:
                break
            try:
                return await session.call(tool, arguments)
            except Forgotten:  # so it did not run: once more, when it is connected anew
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
                session = await self._dial(self.server, self.prefix, self._taken, self._limits)
            except ImportError as missing:
                return self._become("failed", f"the package mcp can't be imported ({missing})")
            error: BaseException | None = None
            try:
                await session.run(partial(self._publish, session), legacy)
            except asyncio.CancelledError:
                return
            except (Exception, BaseExceptionGroup) as raised:  # whatever it does to the SDK stays with this server
                if (task := asyncio.current_task()) and task.cancelling():
                    return
                error = raised
            finally:
                self._lose(session)
            connected = self._last is session
            steady = connected and monotonic() - began >= self._limits.steady_seconds
            failures = 1 if steady else failures + 1
            legacy = legacy if connected else not legacy
            self._become("connecting" if connected and failures == 1 else "failed", session.reason(error))
            await asyncio.sleep(self._delay(failures))

    def _delay(self, failures: int) -> float:
        limits = self._limits
        longest = min(limits.longest_delay, limits.first_delay * 2 ** min(failures - 1, _MOST_DOUBLED))
        return random.uniform(longest / 2, longest)

    def _lose(self, session: Session) -> None:
        if self._session is session:
            self._session = None
            self._up.clear()

    def _publish(self, session: Session, offer: Offer) -> None:
        self._session = self._last = session
        if self.offer is None or self.offer.digest != offer.digest:
            self.offer = offer
        self._become("connected", "")
        self._up.set()

    def _become(self, status: Status, reason: str) -> None:
        if (status, reason) != (self._status, self._reason) and status != "connecting":
            log.info("[MCP] %s: %s%s", self.server.name, status, f" ({reason})" if reason else "")
        if status != self._status:
            self._since = self._clock()
        self._status, self._reason = status, reason
        self._offered = status == "connected" or (status == "connecting" and self._offered)
        self._changed()
