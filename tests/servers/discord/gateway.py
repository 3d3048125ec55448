"""The gateway: HELLO, IDENTIFY, READY, RESUME, heartbeats, and the ways in which it ends. API v10, JSON, plain or
with one zlib stream a connection."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from aiohttp import WSMsgType, web

from tests.servers.discord import intents, views
from tests.servers.discord.frames import GRACE, Pulse, heartbeat_fault, identify_fault
from tests.servers.discord.session import Connection, Session
from tests.servers.discord.values import Json
from tests.servers.discord.world import World

RESUMABLE_FOR = 180.0
"""Seconds that a session may be disconnected. Discord gives no figure; a few minutes were observed."""
SENDS, SEND_WINDOW = 120, 60.0
"""Maximum number of frames per connection and time window in seconds (gateway documentation, "Rate Limiting"), else
4008."""


class Closed(Exception):
    """The connection ends with this code."""

    def __init__(self, code: int, reason: str, *, breach: bool = True) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason
        self.breach = breach


class Gateway:
    """`connections` holds the open websockets with their requests. `heartbeat_interval` and `identify_gap` (the minimum
    time between two IDENTIFYs; 5 at Discord) are in seconds."""

    def __init__(self, world: World, token: str, heartbeat_interval: float, identify_gap: float) -> None:
        self.connections: dict[Connection, web.BaseRequest] = {}
        self.heartbeat_interval = heartbeat_interval
        self.revoked = False
        self.grace = GRACE
        self._gap = identify_gap
        self._identified = -identify_gap
        self._world = world
        self._token = token
        self._operations: dict[int, Callable[[Connection, Any], None]] = {
            1: self._heartbeat,
            2: self._identify,
            3: self._presence,
            6: self._resume,
            8: self._request_members,
        }

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """A websocket from HELLO to its end."""
        query = request.query
        if query.get("v") != "10" or query.get("encoding") != "json":
            self._world.violate("gateway", f"only v=10 and encoding=json are spoken here, not {dict(query)}")
        if query.get("compress") not in (None, "zlib-stream"):
            return web.Response(status=400, text="only compress=zlib-stream is spoken here")
        socket = web.WebSocketResponse(timeout=0.5, compress=False, max_msg_size=4096)
        await socket.prepare(request)
        connection = Connection(socket, request.path, compress="compress" in query)
        self.connections[connection] = request
        writer = asyncio.create_task(connection.write())
        connection.pulse = Pulse(self.heartbeat_interval + self.grace, partial(self._silent, connection))
        connection.put(10, {"heartbeat_interval": int(self.heartbeat_interval * 1000), "_trace": []})
        self._world.changed()
        try:
            while (message := await socket.receive()).type is WSMsgType.TEXT:
                self._take(connection, message.data)
            connection.farewell = message.data if message.type is WSMsgType.CLOSE else None
        finally:
            connection.pulse.stop()
            del self.connections[connection]
            self._leave(connection)
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await writer
        return socket

    def _take(self, connection: Connection, text: str) -> None:
        op: Any = None
        try:
            op, body = self._parsed(connection, text)
            operation = self._operations.get(op)
            if operation is None:
                raise Closed(4001, f"op {op} is not known here")
            if connection.session is None and op not in (1, 2, 6):
                raise Closed(4003, "sent before IDENTIFY")
            operation(connection, body)
        except Closed as closed:
            if closed.breach:
                self._world.violate(f"gateway op {op}", closed.reason, text)
            connection.close(closed.code)
        self._world.changed()

    def _parsed(self, connection: Connection, text: str) -> tuple[int, Any]:
        now = self._world.now()
        connection.received.append(now)
        while connection.received[0] < now - SEND_WINDOW:
            connection.received.popleft()
        if len(connection.received) > SENDS:
            raise Closed(4008, "more than 120 frames in a minute")
        try:
            frame = json.loads(text)
            return int(frame["op"]), frame.get("d")
        except (ValueError, KeyError, TypeError):
            raise Closed(4002, "not a frame") from None

    # --- what the bot sends -----------------------------------------------------------------------------------

    def _heartbeat(self, connection: Connection, body: Any) -> None:
        session = connection.session
        if fault := heartbeat_fault(body, session.seq if session is not None else None):
            raise Closed(4002, fault)
        if session is not None:
            session.heartbeats.append(self._world.now())
        assert connection.pulse is not None
        connection.pulse.felt()
        connection.put(11)

    def _silent(self, connection: Connection) -> None:
        self._world.violate("gateway op 1", f"no heartbeat for {self.heartbeat_interval + self.grace:g} s")
        connection.close(4009)
        self._world.changed()

    def _identify(self, connection: Connection, body: Any) -> None:
        if connection.session is not None:
            raise Closed(4005, "IDENTIFY twice")
        wanted, shard = self._checked(body)
        now, before = self._world.now(), self._identified
        self._identified = now
        if now - before < self._gap:  # all shards are one bucket where max_concurrency is 1
            self._world.violate("gateway op 2", f"{now - before:.1f} s after the IDENTIFY before")
            connection.put(9, False)
            return
        number = self._world.serial()
        session = Session(f"session-{number}", body, wanted, shard, connection, presence=body.get("presence"))
        connection.session = session
        self._world.events.sessions.append(session)
        guilds = [guild for guild in self._world.guilds.values() if guild.has_bot and session.takes(guild, 0)]
        session.push("READY", self._ready(session, [str(guild.id) for guild in guilds]))
        if wanted & intents.GUILDS:
            members = bool(wanted & intents.MEMBERS)
            for guild in guilds:
                session.push("GUILD_CREATE", views.guild_create(self._world, guild, members=members))

    def _checked(self, body: Any) -> tuple[int, tuple[int, int]]:
        """The intents and the shard of a valid IDENTIFY."""
        if fault := identify_fault(body):
            raise Closed(4002, fault)
        if body.get("token") != self._token or self.revoked:
            raise Closed(4004, "the token is wrong", breach=False)
        wanted = body.get("intents")
        if not isinstance(wanted, int) or wanted & ~intents.KNOWN:
            raise Closed(4013, f"intents {wanted!r}")
        if intents.disallowed(wanted, self._world.privileged):
            raise Closed(4014, "a privileged intent that was not granted", breach=False)
        number, of = body.get("shard") or (0, 1)
        if not 0 <= number < of:
            raise Closed(4010, f"shard {number} of {of}")
        return wanted, (number, of)

    def _ready(self, session: Session, guild_ids: list[str]) -> Json:
        flags = sum(intents.APPLICATION_FLAGS[name] for name in self._world.privileged)
        body: Json = {"v": 10, "user": self._world.bot.json() | {"verified": True, "mfa_enabled": True, "email": None}}
        body |= {"guilds": [{"id": guild_id, "unavailable": True} for guild_id in guild_ids]}
        body |= {"session_id": session.id, "session_type": "normal", "_trace": [], "shard": list(session.shard)}
        body |= {"resume_gateway_url": self._world.address.replace("http", "ws", 1) + "/resume/"}
        body |= {"private_channels": [], "presences": [], "relationships": [], "geo_ordered_rtc_regions": []}
        return body | {"application": {"id": str(self._world.application_id), "flags": flags}, "user_settings": {}}

    def _resume(self, connection: Connection, body: Any) -> None:
        if not isinstance(body, dict) or not {"token", "session_id", "seq"} <= body.keys():
            raise Closed(4002, "RESUME needs token, session_id and seq")
        if body["token"] != self._token or self.revoked:
            raise Closed(4004, "the token is wrong", breach=False)
        session = next((one for one in self._world.events.sessions if one.id == body["session_id"]), None)
        late = session is not None and self._world.now() - (session.left_at or self._world.now()) > RESUMABLE_FOR
        missed = session.missed(body["seq"] or 0) if session is not None and not session.ended and not late else None
        if session is None or missed is None:
            connection.put(9, False)
            return
        if session.connection is not None:
            session.connection.close(4000)
            session.connection.session = None
        connection.session, session.connection, session.left_at = session, connection, None
        session.resumes.append(connection.path)
        for frame in missed:
            connection.put(0, frame["d"], t=frame["t"], s=frame["s"])
        session.push("RESUMED", {"_trace": []})

    def _presence(self, connection: Connection, body: Any) -> None:
        if not isinstance(body, dict) or not {"since", "activities", "status", "afk"} <= body.keys():
            raise Closed(4002, "a presence needs since, activities, status and afk")
        assert connection.session is not None
        connection.session.presence = body

    def _request_members(self, connection: Connection, body: Any) -> None:
        session, guild = connection.session, self._world.guilds.get(int(body["guild_id"]))
        if session is None or guild is None or ("query" in body and not session.intents & intents.MEMBERS):
            raise Closed(4014, "members of a whole guild need the members intent")
        wanted = {int(user_id) for user_id in body.get("user_ids", [])} or guild.members.keys()
        found = [views.member_json(self._world, guild, u) for u in guild.members.values() if u.id in wanted]
        chunk: Json = {"guild_id": str(guild.id), "members": found, "chunk_index": 0, "chunk_count": 1, "not_found": []}
        session.push("GUILD_MEMBERS_CHUNK", chunk | ({"nonce": body["nonce"]} if "nonce" in body else {}))

    def _leave(self, connection: Connection) -> None:
        """1000 and 1001 end the session, anything else may be resumed (gateway documentation, "Resuming")."""
        session = connection.session
        if session is not None:
            session.connection = None
            session.left_at = self._world.now()
            session.ended = session.ended or connection.farewell in (1000, 1001)
        self._world.changed()
