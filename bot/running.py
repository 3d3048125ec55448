"""Runs the bot on the configured platforms."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from bot.adapters.shared.background import Background
from bot.admin.listener import Listener
from bot.admin.services import AdminServices
from bot.admin.token import admin_token
from bot.config.environment import Environment
from bot.config.workspace import Workspace
from bot.messaging import Messaging
from bot.observability.tracing import traces
from bot.ops.systemd import describe, pulse, reloading, stopping
from bot.platforms import PLATFORMS
from handlers.access.roles import print_owner_code
from routing.error_boundary import ErrorBoundary
from routing.errors import ConfigError
from routing.lean_imports import without_collection
from routing.ports import Clock
from routing.types.deadline import steady_clock

if TYPE_CHECKING:
    from bot.app import App
    from bot.live_config import LiveConfig

NO_PLATFORM = (
    "No chat platform is configured: run `tierbot setup`, or set {variables} in {env}, "
    "or talk here with `tierbot chat`."
)

Attend = Callable[["App"], Awaitable[bool]]
"""Called once the bot runs; returns whether it shall go on running."""

log = logging.getLogger("bot")


async def show_owner_code(app: App) -> bool:
    """Print the owner code as long as there is no owner."""
    if (code := await app.access.owner_code(app.messaging.platforms)) is not None:
        print_owner_code(code)
    return True


async def run(environment: Environment, workspace: Workspace, attend: Attend = show_owner_code) -> int:
    """Run every platform that is switched on, until SIGTERM or SIGINT. These signals also interrupt the startup."""
    settings = environment.settings
    if not any(platform.configured(settings) for platform in PLATFORMS):
        variables = " or ".join(platform.enabled_by.upper() for platform in PLATFORMS)
        raise ConfigError(NO_PLATFORM.format(variables=variables, env=workspace.root / ".env"))
    stop = _StopSignal()
    try:
        await _serve(environment, workspace, stop, attend)
    except asyncio.CancelledError:
        if not stop.received.is_set():
            raise
        stopping()
        log.info("Stopped during startup")
    return 0


class _StopSignal:
    """Receives SIGTERM, SIGINT or, in a terminal, SIGHUP. The signal also cancels the task that created this, until
    `startup_finished`."""

    def __init__(self) -> None:
        self.received = asyncio.Event()
        self._startup_task = asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGINT, *((signal.SIGHUP,) if _in_terminal() else ())):
            asyncio.get_running_loop().add_signal_handler(number, self._receive)

    def startup_finished(self) -> None:
        """Cancel nothing from now on."""
        self._startup_task = None

    def _receive(self) -> None:
        if self._startup_task is not None and not self.received.is_set():
            self._startup_task.cancel()
        self.received.set()


async def _serve(environment: Environment, workspace: Workspace, stop: _StopSignal, attend: Attend) -> None:
    async with started(environment, workspace) as app:
        stop.startup_finished()
        platforms = app.messaging.platforms
        clock, steady = app.messaging.clock, app.messaging.steady
        heartbeat = environment.settings.heartbeat_file
        background = Background("[Service]")
        status = partial(describe, platforms, steady, clock)
        background.spawn(pulse(list(platforms.values()), steady, heartbeat, status=status))
        background.spawn(_reload_on_hangup(app.live))
        await _attended(app, stop, attend)
        stopping()
        log.info("Stopping: running turns may finish, everything else resumes after the next start")
        await background.close(0)


def _in_terminal() -> bool:
    """Whether SIGHUP means that the terminal was closed."""
    return sys.stdin is not None and sys.stdin.isatty()


async def _reload_on_hangup(live: LiveConfig) -> None:
    """Read the configuration again at each SIGHUP, which `systemctl reload` sends."""
    if _in_terminal():
        return
    hangup = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hangup.set)
    boundary = ErrorBoundary(log, "The configuration can't be read again. The last valid one stays in use.")
    while True:
        await hangup.wait()
        hangup.clear()
        with reloading(), boundary:
            await live.apply(unchanged=True)


async def _attended(app: App, stop: _StopSignal, attend: Attend) -> None:
    """Return after a signal, or once `attend` wants the bot to stop."""
    attending, stopped = asyncio.ensure_future(attend(app)), asyncio.ensure_future(stop.received.wait())
    try:
        await asyncio.wait((attending, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not stopped.done() and await attending:
            await stopped
    finally:
        attending.cancel()
        stopped.cancel()


@asynccontextmanager
async def started(
    environment: Environment, workspace: Workspace, clock: Clock = time.time, steady: Clock | None = None
) -> AsyncIterator[App]:
    """The bot with all platforms that are switched on, from its start to its end. Waits and deadlines use `steady`."""
    settings = environment.settings
    workspace.config(), workspace.catalog()  # their errors end the start before anything connects
    async with Messaging(settings.database, workspace.outgoing, clock, steady or steady_clock()) as messaging:
        built: list[App] = []
        async with _admin(environment, workspace, messaging, built):
            services = messaging.services()
            await messaging.connect([each.build(settings, services) for each in PLATFORMS if each.configured(settings)])
            open_app = await asyncio.to_thread(_import_app)
            async with traces(settings), open_app(environment, workspace, messaging) as app:
                starting = asyncio.create_task(app.start())
                try:
                    await asyncio.shield(starting)
                except asyncio.CancelledError:
                    await starting  # it must tell the owners what it changed
                    raise
                built.append(app)
                try:
                    yield app
                finally:
                    built.clear()


@asynccontextmanager
async def _admin(
    environment: Environment, workspace: Workspace, messaging: Messaging, built: Sequence[App]
) -> AsyncIterator[None]:
    """Health, metrics and the admin page. `built` holds the bot once it takes messages, and nothing once it ends."""
    address = environment.settings.admin
    if address is None:
        yield
        return
    host, port = address
    token = admin_token(workspace)
    services = AdminServices(environment, workspace, messaging, token, host, lambda: next(iter(built), None))
    async with Listener(port, services):
        yield


def _import_app() -> Callable[[Environment, Workspace, Messaging], AbstractAsyncContextManager[App]]:
    """Half of all imports, which the platforms need not wait for."""
    with without_collection():
        from bot.app import open_app
    return open_app
