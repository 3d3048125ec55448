"""`tierbot mcp`: our own tools for other programs, beside a running bot or without one."""

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

from bot.settings import Environment
from bot.version import VERSION
from bot.workspace import Workspace
from handlers.tools import our_shelves
from handlers.tools.dependencies import ToolNeeds
from handlers.tools.mcp.server import serve
from handlers.tools.sandbox import Sandbox
from handlers.tools.tool_source import OurShelves
from handlers.tools.toolbox import Toolbox
from routing.errors import ConfigError, StorageFault, ToolFailed
from routing.policy.tiers import resolve
from routing.ports import PeopleStore, PreferenceStore
from routing.text import storable
from routing.turn.truncation import limit_result
from routing.types.llm import ToolCall
from routing.types.messages import UserKey
from routing.types.people import Person, Preferences
from routing.types.tools import ToolScope
from storage.database import open_database
from storage.history import SqlHistory
from storage.migrate import migrate
from storage.people import SqlPeople
from storage.preferences import SqlPreferences

OF_A_CHAT = ("conversation", "meta")
"""Toolkits that mean nothing to a stranger: what they change is a conversation with the bot, what they tell is how the
bot that runs is doing."""
NO_CONVERSATION = 0
GRACE_SECONDS = 10.0
TRIES, AGAIN_SECONDS = 50, 0.1
"""For a database that another process is just making."""

log = logging.getLogger("bot.mcp")


def offer(environment: Environment, workspace: Workspace, http: str) -> int:
    """Serve until the client hangs up, or SIGTERM or SIGINT comes; `http` is HOST:PORT, empty for stdin and stdout.
    Raises ConfigError."""
    _prepare(environment, workspace)
    line = None if http else Line(sys.stdin.fileno())
    return asyncio.run(_serve(environment, workspace, http, line))


def _prepare(environment: Environment, workspace: Workspace) -> None:
    """Folders and database. Where a bot runs it has seen to them; else the workspace is ours for a moment only."""
    try:
        workspace.prepare()
    except ConfigError:
        if workspace.in_use():
            return
        workspace.prepare()  # whoever had it for a moment is done with it
    try:
        migrate(environment.settings.database, workspace.backups)
    finally:
        workspace.release()


async def _serve(environment: Environment, workspace: Workspace, http: str, line: Line | None) -> int:
    settings, database = environment.settings, open_database(environment.settings.database)
    try:
        preferences = SqlPreferences(database)
        person = await _console(SqlPeople(database, preferences, time.time))
        sandbox = Sandbox(workspace.files, workspace.sandbox_limits())
        history = SqlHistory(database, time.time)
        needs = ToolNeeds(workspace.files, sandbox, history, preferences, workspace.skills, time.time)
        shelves = (shelf for shelf in our_shelves(needs).shelves() if shelf.toolkit.name not in OF_A_CHAT)
        toolbox = Toolbox(OurShelves(shelves))
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
        told = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, line.hang_up if line else told.set)
        await _until_over(serving, told)
        return 0
    finally:
        await database.close()


async def _until_over(serving: asyncio.Task[None], told: asyncio.Event) -> None:
    """Over HTTP the server hears of a signal by itself, unless it came before that listened."""
    telling = asyncio.create_task(told.wait())
    await asyncio.wait({serving, telling}, return_when=asyncio.FIRST_COMPLETED)
    telling.cancel()
    await asyncio.wait({serving}, timeout=GRACE_SECONDS)
    serving.cancel()
    with suppress(asyncio.CancelledError):
        try:
            await serving
        except* BrokenPipeError:
            log.info("[MCP] The client disconnected before its answers were ready")


async def _console(people: PeopleStore) -> Person:
    """Whoever has the machine is an owner, as in the terminal."""
    user = UserKey("console", getuser())
    for tries_left in reversed(range(TRIES)):
        try:
            return await people.find(user) or await people.admit(user, user.user_id, "owner", "terminal")
        except StorageFault:
            if not tries_left:
                raise
        await asyncio.sleep(AGAIN_SECONDS)
    raise AssertionError("the last try returns or raises")


class Runner:
    """Runs tools for one person, outside any conversation. What may not run beside others runs alone."""

    def __init__(self, toolbox: Toolbox, person: Person, preferences: PreferenceStore, most_chars: int) -> None:
        self._toolbox = toolbox
        self._person = person
        self._preferences = preferences
        self._most_chars = most_chars
        self._alone = asyncio.Lock()

    async def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        """`handlers.tools.mcp.server.Run`."""
        traits = self._toolbox.traits(name)
        stored = await self._preferences.settings(self._person.id)
        scope = ToolScope(self._person, NO_CONVERSATION, resolve(Preferences()), stored.time_zone)
        async with nullcontext() if traits.parallel else self._alone:
            try:
                async with asyncio.timeout(traits.seconds):
                    result = await self._toolbox.run(ToolCall("", name, json.dumps(arguments)), scope)
            except TimeoutError:
                raise ToolFailed(f"{name} timed out after {traits.seconds:.0f} s. Ask for less.") from None
        return limit_result(storable(result), self._most_chars)


class Line:
    """Standard input with an end of our own: whoever waits for a line of it in a thread can't be told otherwise that
    none will come. From the beginning on file descriptor `number` is ours."""

    def __init__(self, number: int) -> None:
        self._client = os.dup(number)
        self._ours, theirs = socket.socketpair()
        os.dup2(theirs.fileno(), number)
        theirs.close()
        Thread(target=self._pass_on, name="stdin", daemon=True).start()

    def hang_up(self) -> None:
        """As if the client had."""
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)

    def _pass_on(self) -> None:
        with suppress(OSError):  # we hung up first
            while data := os.read(self._client, 65536):
                self._ours.sendall(data)
        self.hang_up()
