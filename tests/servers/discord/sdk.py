"""Clients of the loopback Discord: discord.py, or plain HTTP for calls that discord.py would not make."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import aiohttp
import discord
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.servers.discord.schema import schema
from tests.servers.discord.server import DiscordServer
from tests.servers.discord.values import Json


@contextlib.contextmanager
def pointed(dc: DiscordServer) -> Iterator[None]:
    """Inside the block every client of this process talks to the loopback server."""
    base, gateway = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = dc.root, yarl.URL(dc.gateway)
    try:
        yield
    finally:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = base, gateway


class Client(discord.Client):
    """A bot that records its events, and a tree for commands."""

    def __init__(self, content: bool = True, **options: Any) -> None:
        intents = discord.Intents.default()
        intents.message_content = content
        super().__init__(intents=intents, guild_ready_timeout=0.05, **options)
        self.tree = app_commands.CommandTree(self)
        self.received: list[discord.Message] = []
        self.event_names: list[str] = []
        """The names of all received events."""
        self.changed = asyncio.Event()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """discord.py would wait for five seconds before a second IDENTIFY."""

    async def on_message(self, message: discord.Message) -> None:
        """Echoes every message."""
        if message.author != self.user:
            self.received.append(message)
            self.changed.set()
            await message.channel.send(f"echo: {message.content}")

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        self.event_names.append(event)
        self.changed.set()
        super().dispatch(event, *args, **kwargs)

    async def until(self, condition: Callable[[], Any]) -> None:
        """Waits until the client has seen it; the server's `wait_for` only checks again when the server changes."""
        async with asyncio.timeout(60):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


@contextlib.asynccontextmanager
async def running(dc: DiscordServer, client: Client) -> AsyncIterator[Client]:
    """The client, logged in and ready, or the error that stopped it; closed at the end of the block."""
    with pointed(dc):
        async with client:
            task = asyncio.create_task(client.start(dc.token))
            ready = asyncio.create_task(client.wait_until_ready())
            await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
            ready.cancel()
            if task.done():
                task.result()
            yield client
        await task


@contextlib.asynccontextmanager
async def talking(**options: Any) -> AsyncIterator[tuple[DiscordServer, Client]]:
    """A server with the guild Team and a client on it, in order at the end."""
    async with DiscordServer(**options) as dc:
        dc.guild()
        async with running(dc, Client()) as client:
            yield dc, client
        assert dc.violations == []
        assert strange_answers(dc) == []


def strange_answers(dc: DiscordServer) -> list[str]:
    """Answers of the server that break the schema."""
    found = []
    for entry in dc.requests:
        matched = schema().match(entry.method, entry.path)
        if matched is None or not 200 <= entry.status < 300 or entry.answer is None:
            continue
        if problem := schema().check_answer(matched[0], entry.status, entry.answer):
            found.append(f"{entry}: {problem}")
    return found


IDENTIFY: Json = {"intents": 1 << 9, "properties": {"os": "linux", "browser": "x", "device": "x"}}
"""For `Socket`, without its token: the intent for messages in guilds only."""


class Socket:
    """A connection without discord.py and without compression."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    @classmethod
    async def open(cls, dc: DiscordServer, session: aiohttp.ClientSession) -> "Socket":
        socket = cls(await session.ws_connect(f"{dc.gateway}?v=10&encoding=json"))
        assert (await socket.socket.receive_json())["op"] == 10
        return socket

    @classmethod
    async def identified(cls, dc: DiscordServer, session: aiohttp.ClientSession, **fields: Any) -> "Socket":
        socket = await cls.open(dc, session)
        await socket.send(2, IDENTIFY | {"token": dc.token, "intents": 1 << 9 | 1 << 12 | 1 << 15} | fields)
        assert (await socket.event("READY"))["application"]["id"] == str(dc.bot.id)
        return socket

    async def send(self, op: int, body: Any) -> None:
        await self.socket.send_json({"op": op, "d": body})

    async def event(self, name: str) -> Json:
        while (frame := await self.socket.receive_json(timeout=60))["t"] != name:
            pass
        return dict(frame["d"])

    async def close_code(self) -> int | None:
        while (await self.socket.receive(timeout=60)).type is aiohttp.WSMsgType.TEXT:
            pass
        return self.socket.close_code


class Raw:
    """Plain HTTP."""

    def __init__(self, dc: DiscordServer, session: aiohttp.ClientSession) -> None:
        self._dc = dc
        self._session = session

    async def call(self, call: str, body: Any = None, *, token: str | None = None, **options: Any) -> tuple[int, Json]:
        """Status and answer of "POST /channels/1/messages"."""
        method, _, path = call.partition(" ")
        headers = {"Authorization": f"Bot {token or self._dc.token}"}
        if body is not None:
            options |= {"json": body}
        async with self._session.request(method, self._dc.root + path, headers=headers, **options) as answer:
            text = await answer.text()
            assert not text or answer.headers["Content-Type"] == "application/json"
            return answer.status, json.loads(text) if text else {}


@contextlib.asynccontextmanager
async def raw(dc: DiscordServer) -> AsyncIterator[Raw]:
    async with aiohttp.ClientSession() as session:
        yield Raw(dc, session)
