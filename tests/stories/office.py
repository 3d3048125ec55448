"""A bot with an MCP server whose tools act outside, and a model that calls them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.app import App
from routing.ports import Clock
from routing.tools.fallback_reasons import LOADING
from tests.polling import until
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall
from tests.servers.telegram import Message, User
from tests.stories.harness import BotHarness, running

SERVER = Path(__file__).with_name("office_server.py")
MAIL = {"to": "bob@example.com", "body": "See you at five."}
ONCE, HERE, ALWAYS, CANCEL = "✅ Allow once", "✅ In this conversation", "♾ Always", "❌ Cancel"
ASKED = "🔐"


class Office:
    """The server's folder: its log of actions, and what its tools return."""

    def __init__(self, on: BotHarness, **fields: Any) -> None:
        self.folder = on.workspace.parent / "office"
        self.folder.mkdir()
        self.page("Nothing new.")
        arguments = [str(SERVER), str(self.folder)]
        entry = {"command": sys.executable, "args": arguments, "role": "user", **fields}
        on.workspace.mkdir(parents=True, exist_ok=True)
        (on.workspace / "mcp.json").write_text(json.dumps({"mcpServers": {"office": entry}}))
        on.env |= {"EMBEDDINGS": "off"}

    @property
    def done(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The calls that reached a tool that acts outside."""
        log = self.folder / "log.jsonl"
        return [tuple(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []

    def page(self, text: str) -> None:
        (self.folder / "page.txt").write_text(text)


@asynccontextmanager
async def at_work(on: BotHarness, clock: Clock | None = None) -> AsyncIterator[App]:
    """Waits until the server is connected and its tools are indexed."""
    async with running(on, clock) if clock else running(on) as app:
        await connected(app)
        yield app


async def connected(app: App) -> None:
    await until(lambda: any(kit.source == "mcp" for kit in app.engine.tooling.toolbox.toolkits()))
    selector = app.engine.tooling.selector
    selector.start()
    await until(lambda: selector.fallback_reason != LOADING)


def calls(on: BotHarness, tool: str, arguments: Mapping[str, Any], server: str = "office_") -> None:
    """A model that calls the tool for each question, again after it is given the schema, and then repeats the
    result."""

    def answer(request: ModelRequest) -> Script | str:
        role, text = request.reading.turns[-1]
        if role == "tool" and "was not run yet" not in text:
            return f"Done: {text}"
        return Script(calls=(ToolCall(f"{server}{tool}", json.dumps(arguments)),))

    on.ms.default = answer


async def card(
    on: BotHarness, text: str = "Mail Bob.", user: User | str | None = None, group: str | None = None
) -> Message:
    """Sends a message and waits for the confirmation card."""
    question = on.tg.say(text, user=user, group=group)
    return await on.tg.reply(question, after=question, matching=lambda message: ASKED in message.text)


async def pressed(on: BotHarness, button: str, message: Message, user: User | str | None = None) -> Message:
    """Presses a button and waits for the new message."""
    before = len(message.chat.from_bot())
    on.tg.press(button, message=message, user=user)
    await on.tg.wait_for(lambda _: len(message.chat.from_bot()) > before)
    return message.chat.from_bot()[-1]
