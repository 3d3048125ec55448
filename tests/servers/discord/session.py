"""A gateway session with its events, and its current connection."""

import asyncio
import json
import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.servers.discord.frames import Pulse
from tests.servers.discord.values import Guild, Json

BACKLOG = 10_000
"""Events kept for a RESUME."""


class Connection:
    """One websocket. Frames are sent in the order of `put`; `mute` makes it look open but dead."""

    def __init__(self, socket: web.WebSocketResponse, path: str, *, compress: bool) -> None:
        self.socket = socket
        self.path = path
        self.session: Session | None = None
        self.received: deque[float] = deque()
        self.pulse: Pulse | None = None
        self.farewell: int | None = None
        """The code with which the bot closed; None when it did not."""
        self._deflate = zlib.compressobj() if compress else None
        self._queue: asyncio.Queue[Json | int] = asyncio.Queue()
        self._no_acks = False
        self._muted = False

    def put(self, op: int, body: Any = None, **extra: Any) -> None:
        if not (self._muted or (op == 11 and self._no_acks)):
            self._queue.put_nowait({"op": op, "d": body, "s": None, "t": None} | extra)

    def close(self, code: int) -> None:
        """Closes after the frames in the queue."""
        self._queue.put_nowait(code)

    def mute(self, *, events: bool) -> None:
        """From now on no heartbeat is acknowledged and, unless `events`, nothing comes at all."""
        self._no_acks, self._muted = True, not events

    def cut(self, request: web.BaseRequest) -> None:
        """Without a close frame, as when a cable is pulled."""
        if request.transport is not None:
            request.transport.abort()

    async def write(self) -> None:
        """Sends until it is closed."""
        while not isinstance(frame := await self._queue.get(), int):
            text = json.dumps(frame)
            if self._deflate is None:
                await self.socket.send_str(text)
            else:
                packed = self._deflate.compress(text.encode()) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
                await self.socket.send_bytes(packed)
        await self.socket.close(code=frame)


@dataclass(slots=True, eq=False)
class Session:
    """The data of IDENTIFY and the events since; `connection` is None while the bot is disconnected and may resume."""

    id: str
    identify: Json
    intents: int
    shard: tuple[int, int]
    connection: Connection | None
    seq: int = 0
    resumes: list[str] = field(default_factory=list)
    """The path of each RESUME: resume_gateway_url has a different one."""
    heartbeats: list[float] = field(default_factory=list)
    presence: Json | None = None
    left_at: float | None = None
    ended: bool = False
    """Whether it can't be resumed any more."""
    backlog: deque[Json] = field(default_factory=lambda: deque(maxlen=BACKLOG))

    @property
    def is_connected(self) -> bool:
        return self.connection is not None

    def takes(self, guild: Guild | None, intent: int) -> bool:
        """Whether an event is for this session; DMs belong to shard 0."""
        number, of = self.shard
        home = 0 if guild is None else (guild.id >> 22) % of
        return not self.ended and home == number and (intent == 0 or bool(self.intents & intent))

    def push(self, event: str, body: Json) -> None:
        self.seq += 1
        frame = {"t": event, "s": self.seq, "d": body}
        self.backlog.append(frame)
        if self.connection is not None:
            self.connection.put(0, body, t=event, s=self.seq)

    def missed(self, seq: int) -> list[Json] | None:
        """The events after `seq`; None if not all of them are stored."""
        if seq > self.seq or (self.backlog and seq < self.backlog[0]["s"] - 1):
            return None
        return [frame for frame in self.backlog if frame["s"] > seq]
