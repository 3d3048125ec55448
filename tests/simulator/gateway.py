"""A gateway before simcord: what it would feed to a client in its own process leaves here by a websocket.

Which events a bot gets, and with what content, is simcord's to say. It knows no RESUME: every connection begins anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import discord
import simcord
from aiohttp import WSMsgType, web
from simcord import intents
from simcord.backend import serializers
from simcord.backend.cdn import CDN_BASE
from simcord.gateway import ShardRouter

Json = dict[str, Any]
HELLO, HEARTBEAT, ACK, IDENTIFY, RESUME, INVALID = 10, 1, 11, 2, 6, 9
"""Operations."""
DISALLOWED = 4014
"""The close code for a privileged intent that the application has not been given."""
_INTERVAL = 41250  # milliseconds between heartbeats


class _Parsers(dict[str, Callable[[Json], None]]):
    """Takes every event, instead of a client's own parsers."""

    def __init__(self, put: Callable[[str, Json], None]) -> None:
        super().__init__()
        self._put = put

    def __missing__(self, event: str) -> Callable[[Json], None]:
        return lambda payload: self._put(event, payload)


class _Session:
    """What simcord takes for the state of a client: the intents of its IDENTIFY, and where events go."""

    def __init__(self, wanted: int, put: Callable[[int, Any, str], None]) -> None:
        self.intents = discord.Intents.none()
        self.intents.value = wanted
        self.parsers = _Parsers(lambda event, payload: put(0, payload, event))


class Gateway:
    """`address` is its own, for RESUME; `approved`: the intents that the portal has granted, None for all."""

    def __init__(self, env: simcord.Env, approved: discord.Intents | None) -> None:
        self.address = ""
        self.sessions = 0
        self._env = env
        self._approved = approved

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """A websocket from HELLO to its end."""
        socket = web.WebSocketResponse(timeout=0.5, compress=False)
        await socket.prepare(request)
        connection = _Connection(socket, self.address)
        writer = asyncio.create_task(connection.write())
        connection.put(HELLO, {"heartbeat_interval": _INTERVAL})
        feed: Callable[[str, Mapping[str, Any]], None] | None = None
        try:
            while (message := await socket.receive()).type is WSMsgType.TEXT:
                frame = json.loads(message.data)
                if frame["op"] == HEARTBEAT:
                    connection.put(ACK)
                elif frame["op"] == RESUME:
                    connection.put(INVALID, False)
                elif frame["op"] == IDENTIFY:
                    feed = self._begin(connection, frame["d"]["intents"])
        finally:
            if feed is not None:
                self._env.backend.subscribers.remove(feed)
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await writer
        return socket

    def _begin(self, connection: _Connection, wanted: int) -> Callable[[str, Mapping[str, Any]], None] | None:
        """READY and the guilds, as simcord greets a client of its own; None when it is refused."""
        backend, session = self._env.backend, _Session(wanted, connection.put)
        self.sessions += 1
        if self._approved is not None and intents.missing_privileged_intents(session.intents, self._approved):
            connection.close(DISALLOWED)
            return None
        router = ShardRouter(backend, session, lambda *_: None, 1, (0,))
        router.identify(0)
        for guild in list(backend.guilds.values()):
            router.feed("GUILD_CREATE", serializers.guild_create_payload(backend, guild))
        feed = router.feed
        backend.subscribers.append(feed)
        return feed


class _Connection:
    """Frames leave in the order of `put`."""

    def __init__(self, socket: web.WebSocketResponse, address: str) -> None:
        self._socket = socket
        self._address = address
        self._queue: asyncio.Queue[Json | int] = asyncio.Queue()
        self._number = 0

    def put(self, op: int, body: Any = None, event: str | None = None) -> None:
        if event is not None:
            self._number += 1
        if event == "READY":
            body["resume_gateway_url"] = self._address
        self._queue.put_nowait({"op": op, "d": body, "t": event, "s": self._number if event else None})

    def close(self, code: int) -> None:
        """After what was put before."""
        self._queue.put_nowait(code)

    async def write(self) -> None:
        """Sends until it is closed."""
        while not isinstance(frame := await self._queue.get(), int):
            files = self._address.replace("ws", "http", 1).rstrip("/")
            await self._socket.send_str(json.dumps(frame).replace(CDN_BASE, files))
        await self._socket.close(code=frame)
