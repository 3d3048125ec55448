"""`tierbot mcp`: serves the bot's tools to other programs, whether or not the bot is running."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from getpass import getuser
from threading import Thread
from typing import Any

from bot.config.environment import Environment
from bot.config.tool_settings import package_index, weather_addresses, web_settings
from bot.config.workspace import Workspace
from handlers.tools import builtin_source
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.mcp.server import serve
from handlers.tools.sandbox import Sandbox
from handlers.tools.tool_source import BuiltinSource
from handlers.tools.toolbox import Toolbox
from handlers.version import VERSION
from routing.errors import ConfigError, StorageFault, ToolFailed
from routing.policy.tiers import resolve
from routing.ports import PeopleStore
from routing.text import storable
from routing.turn.truncation import limit_result
from routing.types.llm import ToolCall
from routing.types.messages import UserKey
from routing.types.people import Person, Preferences
from routing.types.tools import ToolScope
from storage.database import open_database
from storage.database.migrate import migrate
from storage.history import SqlHistory
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences

NOT_SERVED = ("conversation", "host_pc", "memory", "meta")
"""Toolkits that are not served, because they change a chat with the bot, need its buttons, or report on the running
bot."""
NO_CONVERSATION = 0
GRACE_SECONDS = 10.0
MIGRATION_ATTEMPTS, MIGRATION_RETRY_SECONDS = 50, 0.1
"""Retries while another process is creating the database."""

log = logging.getLogger("bot.mcp")


def offer(environment: Environment, workspace: Workspace, http: str) -> int:
    """Serve until the client disconnects, or SIGTERM or SIGINT. `http` is HOST:PORT; empty means stdin and stdout.
    Raises ConfigError."""
    _prepare(environment, workspace)
    line = None if http else ClosableStdin(sys.stdin.fileno())
    return asyncio.run(_serve(environment, workspace, http, line))


def _prepare(environment: Environment, workspace: Workspace) -> None:
    """Create folders and migrate the database, unless a running bot has done so. Locks the workspace only meanwhile."""
    try:
        workspace.prepare()
    except ConfigError:
        if workspace.in_use():
            return
        workspace.prepare()  # another process held the lock only for a moment
    try:
        migrate(environment.settings.database, workspace.backups)
    finally:
        workspace.release()


async def _serve(environment: Environment, workspace: Workspace, http: str, line: ClosableStdin | None) -> int:
    settings, database = environment.settings, open_database(environment.settings.database)
    try:
        preferences = SqlPreferences(database)
        person = await _console(SqlPeople(database, preferences, time.time))
        sandbox = Sandbox(workspace.files, workspace.config().sandbox)
        history = SqlHistory(database, time.time)
        dependencies = ToolDependencies(
            workspace.files,
            sandbox,
            history,
            preferences,
            workspace.skills,
            time.time,
            weather=weather_addresses(settings),
            web=lambda: web_settings(environment.settings),
            packages=package_index(settings),
        )
        kits = (kit for kit in builtin_source(dependencies).bound_toolkits() if kit.toolkit.name not in NOT_SERVED)
        toolbox = Toolbox(BuiltinSource(kits))
        token = settings.tierbot_mcp_token
        serving = asyncio.create_task(
            serve(
                await toolbox.offered(person),
                Runner(toolbox, person, preferences, workspace.config().most_result_chars).run,
                http=http,
                token=token.get_secret_value() if token else "",
                version=VERSION,
                traits=toolbox.traits,
            )
        )
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, line.close_stdin if line else stop.set)
        await _wait(serving, stop)
        return 0
    finally:
        await database.close()


async def _wait(serving: asyncio.Task[None], stop: asyncio.Event) -> None:
    """Wait for the server to end. Over HTTP it handles signals itself, except those before it listens."""
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    await asyncio.wait({serving}, timeout=GRACE_SECONDS)
    serving.cancel()
    with suppress(asyncio.CancelledError):
        try:
            await serving
        except* BrokenPipeError:
            log.info("[MCP] The client disconnected before its answers were ready")


async def _console(people: PeopleStore) -> Person:
    """The local user, who is an owner as in the terminal."""
    user = UserKey("console", getuser())
    for tries_left in reversed(range(MIGRATION_ATTEMPTS)):
        try:
            return await people.find(user) or await people.admit(user, user.user_id, "owner", "terminal")
        except StorageFault:
            if not tries_left:
                raise
        await asyncio.sleep(MIGRATION_RETRY_SECONDS)
    raise AssertionError("the last try returns or raises")


class Runner:
    """Runs tools for one person, outside any conversation. Tools that are not parallel run one at a time."""

    def __init__(self, toolbox: Toolbox, person: Person, preferences: SqlPreferences, most_chars: int) -> None:
        self._toolbox = toolbox
        self._person = person
        self._preferences = preferences
        self._most_chars = most_chars
        self._alone = asyncio.Lock()

    async def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run a tool. Implements `handlers.tools.mcp.server.Run`."""
        traits = self._toolbox.traits(name)
        self._preferences.clear()  # the bot may have changed them
        stored = await self._preferences.settings(self._person.id)
        scope = ToolScope(self._person, NO_CONVERSATION, resolve(Preferences()), stored.time_zone)
        async with nullcontext() if traits.parallel else self._alone:
            try:
                async with asyncio.timeout(traits.seconds):
                    result = await self._toolbox.run(ToolCall("", name, json.dumps(arguments)), scope)
            except TimeoutError:
                raise ToolFailed(f"{name} timed out after {traits.seconds:.0f} s. Ask for less.") from None
        return limit_result(storable(result), self._most_chars)


class ClosableStdin:
    """Replaces file descriptor `number` (stdin) by a socket that this process can close: a thread blocked in reading
    stdin can't be interrupted otherwise."""

    def __init__(self, number: int) -> None:
        self._client = os.dup(number)
        self._ours, theirs = socket.socketpair()
        os.dup2(theirs.fileno(), number)
        theirs.close()
        Thread(target=self._forward, name="stdin", daemon=True).start()

    def close_stdin(self) -> None:
        """Close stdin, as if the client had disconnected."""
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)

    def _forward(self) -> None:
        with suppress(OSError):  # `close_stdin` was called first
            while data := os.read(self._client, 65536):
                self._ours.sendall(data)
        self.close_stdin()
