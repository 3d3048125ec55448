"""What replies and previews share: the HTTP door, what half-streamed messages show and since when, work in the
background. Every text that leaves here can ping nobody."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import discord
from discord.http import Route

from bot.adapters.background import Background
from bot.adapters.discord.client import unlocking
from bot.adapters.discord.failure import TROUBLES, UNKNOWN_WEBHOOK, Offline
from bot.adapters.discord.options import Pace
from bot.adapters.discord.origin import Origin, created
from handlers.recent import Recent
from routing.ports import Clock
from routing.types import Document, Picture

Json = dict[str, Any]
File = Document | Picture
MENTIONS: Json = {"parse": []}
"""`allowed_mentions` of everything that is sent: nobody."""
EPHEMERAL = 1 << 6
PROTECTED = 120.0
"""Seconds in which a nonce surely keeps Discord from showing a message twice."""
_NO_EMBEDS = 1 << 2
_CONNECT = 10.0  # seconds
_UPLOAD = 60.0  # seconds more for an answer to a file
_SHOWN = 256  # half-streamed messages remembered; only those that never got their final text stay
_FORGOTTEN = 256  # interactions remembered that Discord does not know
_DEFERRING = 10.0  # seconds after an interaction in which its deferral may still be on its way
_DEFER_TRIES, _DEFER_GAP = 12, 0.25

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a message shows since `at`, in the event loop's seconds."""

    text: str
    message_id: str
    at: float


@dataclass(slots=True)
class Stage:
    """`client` may be replaced by another one that has the same account. `answer`: seconds until a call has failed.
    `shown`: previews by the id of their message or, before it is known, of their interaction."""

    client: discord.Client
    pace: Pace
    clock: Clock
    answer: float = 20.0
    shown: dict[str, Shown] = field(default_factory=dict)
    _began: float = field(init=False)
    _rooms: Recent[str, str] = field(default_factory=Recent)
    _forgotten: deque[int] = field(default_factory=lambda: deque(maxlen=_FORGOTTEN))
    background: Background = field(default_factory=lambda: Background("Discord"))

    def __post_init__(self) -> None:
        self._began = self.clock()

    async def send(self, channel_id: str, content: Json, files: Sequence[File] = ()) -> Json:
        """A new message; `@` and the id of a user is their private channel."""
        if channel_id.startswith("@"):
            channel_id = await self._room(channel_id[1:])
        return await self._written("POST", "/channels/{channel_id}/messages", content, files, channel_id=channel_id)

    async def edit(self, channel_id: str, message_id: str, content: Json, files: Sequence[File] = ()) -> Json:
        """What the content does not name stays."""
        place = {"channel_id": channel_id, "message_id": message_id}
        return await self._written("PATCH", "/channels/{channel_id}/messages/{message_id}", content, files, **place)

    async def original(self, origin: Origin, content: Json, files: Sequence[File] = ()) -> Json:
        """A new text for the deferred answer of a command, or for the message whose control was pressed."""
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
        return await self._deferred("PATCH", path, origin, content, files)

    async def follow_up(self, origin: Origin, content: Json, files: Sequence[File] = ()) -> Json:
        """A further message; as visible as the origin says. Nothing would show that it is there already: what may have
        arrived is not sent again here."""
        return await self._deferred("POST", "/webhooks/{webhook_id}/{webhook_token}", origin, content, files)

    def opens(self, origin: Origin) -> bool:
        """Whether the interaction still takes an answer, as far as is known."""
        return origin.alive(self.clock()) and origin.interaction_id not in self._forgotten

    def forget(self, interaction_id: int) -> None:
        """Discord does not know the interaction: nothing more is sent there."""
        self._forgotten.append(interaction_id)

    def inherits(self, asked: float) -> bool:
        """Whether an earlier process may have begun to answer what was asked then, under a nonce that still holds."""
        return asked < self._began and self.clock() - asked < PROTECTED

    async def type(self, channel_id: str) -> None:
        """Typing is shown for ten seconds, or until a message comes."""
        await self.call("POST", "/channels/{channel_id}/typing", channel_id=channel_id)

    async def call(self, method: str, path: str, content: Json | None = None, **place: Any) -> Any:
        """A call as it is; the library waits for rate limits. Raises what is in `failure.TROUBLES`."""
        given = {} if content is None else {"json": content}
        return await self._request(Route(method, path, **place), self.answer, **given)

    async def pause(self, shown: str) -> None:
        """Wait until this message may be edited again."""
        if (before := self.shown.get(shown)) is not None:
            await asyncio.sleep(before.at + self.pace.edit_gap - asyncio.get_running_loop().time())

    def keep_shown(self, key: str, content: str, message: Json) -> None:
        """Remember what a preview shows: as Discord tells it, for a nonce may have found an older one."""
        text = content if message.get("content", content) == content else ""
        self.shown.pop(key, None)
        self.shown[key] = Shown(text, str(message["id"]), asyncio.get_running_loop().time())
        if len(self.shown) > _SHOWN:
            del self.shown[next(iter(self.shown))]

    def in_guild(self, channel_id: str) -> bool:
        """Whether it is a channel of a server, as far as the client knows."""
        return getattr(self.client.get_channel(int(channel_id)), "guild", None) is not None

    async def courtesy(self, work: Coroutine[None, None, Any]) -> None:
        """A call that nobody misses if it fails."""
        try:
            await work
        except TROUBLES as error:
            log.debug("a call failed: %s", type(error).__name__)

    async def _room(self, user_id: str) -> str:
        """The private channel with somebody, which is made where there is none."""
        known = self._rooms.get(user_id)
        if known is None:
            known = str((await self.call("POST", "/users/@me/channels", {"recipient_id": user_id}))["id"])
            self._rooms.put(user_id, known)
        return known

    async def _deferred(self, method: str, path: str, origin: Origin, content: Json, files: Sequence[File]) -> Json:
        """By the interaction's token, which opens nothing before the deferral has arrived."""
        tries = 0
        while True:
            try:
                place = {"webhook_id": self.client.application_id, "webhook_token": origin.token}
                return await self._written(method, path, content, files, **place)
            except discord.NotFound as error:
                tries += 1
                young = self.clock() - created(origin.interaction_id) < _DEFERRING
                hopeless = not young or not self.opens(origin) or tries >= _DEFER_TRIES
                if error.code != UNKNOWN_WEBHOOK or hopeless:
                    raise
            await asyncio.sleep(_DEFER_GAP)

    async def _written(self, method: str, path: str, content: Json, files: Sequence[File], **place: Any) -> Json:
        route = Route(method, path, **place)
        once: Json = {"raise_for_status": _once} if method == "POST" and "webhook_token" in place else {}
        content = content | {"allowed_mentions": MENTIONS}
        if not files:
            result: Json = await self._request(route, self.answer, json=content, **once)
            return result
        named = [{"id": number, "filename": file.name} for number, file in enumerate(files)]
        form: list[Json] = [{"name": "payload_json", "value": json.dumps(content | {"attachments": named})}]
        for number, file in enumerate(files):
            form.append({"name": f"files[{number}]", "filename": file.name, **_content(file)})
        result = await self._request(route, self.answer + _UPLOAD, form=form, **once)
        return result

    async def _request(self, route: Route, seconds: float, **given: Any) -> Any:
        client = self.client
        if client.application_id is None or client.is_closed():
            raise Offline("not connected to Discord")
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT)
        with unlocking(client):
            return await client.http.request(route, timeout=timeout, **given)


def _content(file: File) -> Json:
    """A file's bytes and their type, as a field of a form."""
    if isinstance(file, Picture):
        return {"value": file.data, "content_type": "image/png"}
    return {"value": file.text.encode(errors="replace"), "content_type": "application/octet-stream"}


async def _once(response: aiohttp.ClientResponse) -> None:
    """Given to a call, takes from the library the answers after which it would call again by itself."""
    if response.status >= 500:
        raise discord.DiscordServerError(response, None)


def body(text: str, controls: Sequence[Json] = (), flags: int = 0) -> Json:
    """A message's content; without controls it loses those that it had. Links show no preview."""
    return {"content": text, "components": list(controls), "flags": _NO_EMBEDS | flags}
