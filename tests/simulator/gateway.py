"""A Discord gateway over a websocket that serves simcord's events.

simcord decides which events a bot gets, and their content. It has no RESUME, so events from while a connection is
lost are kept here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import discord
import simcord
from aiohttp import WSMsgType, web
from simcord import intents
from simcord.backend import serializers
from simcord.backend.cdn import CDN_BASE
from simcord.gateway import ShardRouter

Json = dict[str, Any]
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
"""Gateway opcodes."""
GOODBYE, DISALLOWED = 1000, 4014
"""Close codes: the client ends its session; a privileged intent was not granted."""
_INTERVAL = 41250  # milliseconds between heartbeats


class _Parsers(dict[str, Callable[[Json], None]]):
    """Accepts every event, instead of a client's own parsers."""

    def __init__(self, put: Callable[[str, Json], None]) -> None:
        super().__init__()
        self._put = put

    def __missing__(self, event: str) -> Callable[[Json], None]:
        return lambda payload: self._put(event, payload)


class _Session:
    """The part of a client's state that simcord uses: its intents, and where events go. Events wait while there is no
    connection."""

    def __init__(self, wanted: int, ready: Json) -> None:
        """`ready`: the fields of READY that differ from simcord's."""
        self.intents = discord.Intents.none()
        self.intents.value = wanted
        self.parsers = _Parsers(self._dispatch)
        self._ready = ready
        self._events: list[Json] = []
        self._connection: _Connection | None = None

    def enter(self, connection: _Connection, seen: int = 0) -> None:
        """Send events there from now on, first those after number `seen`."""
        self._connection = connection
        for frame in self._events[seen:]:
            connection.put(frame)

    def leave(self, connection: _Connection) -> None:
        """Stop sending events there."""
        if self._connection is connection:
            self._connection = None

    def _dispatch(self, event: str, payload: Json) -> None:
        if event == "READY":
            payload |= self._ready
        frame = {"op": DISPATCH, "d": payload, "t": event, "s": len(self._events) + 1}
        self._events.append(frame)
        if self._connection is not None:
            self._connection.put(frame)


class Gateway:
    """`address` is the gateway's own, for RESUME; `approved`: the intents granted in the portal, None for all.
    `sessions` and `resumed` count new and resumed sessions."""

    def __init__(self, env: simcord.Env, approved: discord.Intents | None) -> None:
        self.address = ""
        self.sessions = 0
        self.resumed = 0
        self._env = env
        self._approved = approved
        self._kept: dict[str, _Session] = {}
        self._connections: set[_Connection] = set()
        self._open = asyncio.Event()
        self._open.set()

    @contextlib.contextmanager
    def away(self, *, asked: bool = False) -> Iterator[None]:
        """All connections break, or are `asked` to reconnect; none is accepted until the end of the block."""
        self._open.clear()
        for connection in self._connections:
            connection.put({"op": RECONNECT, "d": None}) if asked else connection.cut()
        yield
        self._open.set()

    def forget(self) -> None:
        """No session can be resumed."""
        self._kept.clear()

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """A websocket from HELLO to its end."""
        await self._open.wait()
        socket = web.WebSocketResponse(timeout=0.5, compress=False)
        await socket.prepare(request)
        connection = _Connection(socket, request.transport, self.address.replace("ws", "http", 1).rstrip("/"))
        self._connections.add(connection)
        writer = asyncio.create_task(connection.write())
        name = ""
        try:
            connection.put({"op": HELLO, "d": {"heartbeat_interval": _INTERVAL}})
            while (message := await socket.receive()).type is WSMsgType.TEXT:
                name = self._session_name(connection, json.loads(message.data)) or name
        finally:
            self._connections.discard(connection)
            if name in self._kept:
                self._kept[name].leave(connection)
            if socket.close_code == GOODBYE:
                self._kept.pop(name, None)
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await writer
        return socket

    def _session_name(self, connection: _Connection, frame: Json) -> str:
        """The name of the session that this frame starts or resumes."""
        if frame["op"] == IDENTIFY:
            return self._begin(connection, frame["d"]["intents"])
        if frame["op"] == RESUME:
            return self._resume(connection, frame["d"]["session_id"], frame["d"]["seq"])
        if frame["op"] == HEARTBEAT:
            connection.put({"op": ACK})
        return ""

    def _resume(self, connection: _Connection, name: str, seen: int) -> str:
        session = self._kept.get(name)
        if session is None:
            connection.put({"op": INVALID, "d": False})
            return ""
        self.resumed += 1
        session.enter(connection, seen)
        connection.put({"op": DISPATCH, "d": {}, "t": "RESUMED", "s": None})
        return name

    def _begin(self, connection: _Connection, wanted: int) -> str:
        """READY and the guilds, as simcord sends them to its built-in client; nothing if it is refused."""
        backend, name = self._env.backend, f"session-{self.sessions}"
        session = _Session(wanted, {"session_id": name, "resume_gateway_url": self.address})
        self.sessions += 1
        if self._approved is not None and intents.missing_privileged_intents(session.intents, self._approved):
            connection.close(DISALLOWED)
            return ""
        session.enter(connection)
        router = ShardRouter(backend, session, lambda *_: None, 1, (0,))
        router.identify(0)
        for guild in list(backend.guilds.values()):
            router.feed("GUILD_CREATE", serializers.guild_create_payload(backend, guild))
        backend.subscribers.append(router.feed)
        self._kept[name] = session
        return name


class _Connection:
    """Frames are sent in the order of `put`."""

    def __init__(self, socket: web.WebSocketResponse, transport: asyncio.Transport | None, files: str) -> None:
        self._socket = socket
        self._transport = transport
        self._files = files
        self._queue: asyncio.Queue[Json | int] = asyncio.Queue()

    def put(self, frame: Json) -> None:
        self._queue.put_nowait(frame)

    def close(self, code: int) -> None:
        """Close after the frames in the queue."""
        self._queue.put_nowait(code)

    def cut(self) -> None:
        """Close without a close frame."""
        if self._transport is not None:
            self._transport.abort()

    async def write(self) -> None:
        """Sends until it is closed."""
        while not isinstance(frame := await self._queue.get(), int):
            await self._socket.send_str(json.dumps(frame).replace(CDN_BASE, self._files))
        await self._socket.close(code=frame)
