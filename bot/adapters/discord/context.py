"""State shared by replies and previews: the HTTP client, what previews show, background tasks, and references to
interactions. Nothing sent from here can ping anyone."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import discord
from discord.http import Route

from bot.adapters.discord.client import Json, release_rate_limit
from bot.adapters.discord.failures import CALL_ERRORS, UNKNOWN_WEBHOOK, Offline
from bot.adapters.discord.settings import Pace
from bot.adapters.shared.background import Background
from routing.bounded import Bounded
from routing.ports import Clock
from routing.types.messages import Document, OutgoingFile, Picture

File = Document | Picture | OutgoingFile
EPOCH = 1420070400.0
"""Unix seconds of the start of 2015, from which Discord's ids count milliseconds."""
TOKEN_SECONDS = 14.5 * 60
"""How long an interaction's token is used; Discord forgets it after 15 minutes."""
MENTIONS: Json = {"parse": []}
"""`allowed_mentions` of all messages: none."""
EPHEMERAL = 1 << 6
PROTECTED_SECONDS = 120.0
"""How long a nonce keeps Discord from showing a message twice."""
_NO_EMBEDS = 1 << 2
_CONNECT = 10.0  # seconds
_UPLOAD = 60.0  # seconds more for a call with a file
_MAX_PREVIEWS = 256  # remembered previews; only those that never got their final text remain
_MAX_UNKNOWN = 256  # number of remembered interactions that Discord does not know
_DEFERRING = 10.0  # seconds after an interaction during which its deferral may still be in progress
_DEFER_ATTEMPTS, _DEFER_GAP = 12, 0.25
_PACKED = re.compile(r"i:(\d{1,20}):(c?e?a?):(\d{1,20}):([^:]*):(.+)", re.DOTALL)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InteractionRef:
    """A reference to the interaction of a command, button or menu (`component` for the latter two).

    `pack` turns it into text, which is used in place of a message id and survives a restart. `ephemeral`: only
    `user_id`, whose language is `language` (empty if unknown), sees the answer. `apart`: the answer is a separate
    message and does not replace the text of the message with the button.
    """

    interaction_id: int
    token: str
    user_id: int
    language: str = ""
    component: bool = False
    ephemeral: bool = False
    apart: bool = False

    def pack(self) -> str:
        """Text for `unpack`."""
        flags = "c" * self.component + "e" * self.ephemeral + "a" * self.apart
        return f"i:{self.interaction_id}:{flags}:{self.user_id}:{self.language}:{self.token}"

    @staticmethod
    def unpack(text: str) -> InteractionRef | None:
        """The reference in a packed text; None for other texts, such as message ids."""
        found = _PACKED.fullmatch(text)
        if found is None:
            return None
        number, flags, user, language, token = found.groups()
        return InteractionRef(int(number), token, int(user), language, "c" in flags, "e" in flags, "a" in flags)

    def alive(self, now: float) -> bool:
        """Whether the token can still be used; `now` is Unix seconds."""
        return now - created(self.interaction_id) < TOKEN_SECONDS

    def beside(self) -> InteractionRef:
        """A copy whose answer is a separate message."""
        return replace(self, apart=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a preview has shown since `at`, in the event loop's seconds."""

    text: str
    message_id: str
    at: float


@dataclass(slots=True)
class ClientContext:
    """`answer` is the timeout of a call in seconds. `shown` has the previews by message id, or by interaction id before
    the message id is known. `may_show` tells whether previews may be shown now."""

    client: discord.Client
    pace: Pace
    clock: Clock
    answer: float = 20.0
    may_show: Callable[[], bool] = lambda: True
    shown: Bounded[str, Shown] = field(default_factory=lambda: Bounded(_MAX_PREVIEWS))
    background: Background = field(default_factory=lambda: Background("Discord"))
    _began: float = field(init=False)
    _direct: Bounded[str, str] = field(default_factory=Bounded)
    _forgotten: deque[int] = field(default_factory=lambda: deque(maxlen=_MAX_UNKNOWN))

    def __post_init__(self) -> None:
        self._began = self.clock()

    async def send(self, channel_id: str, content: Json, files: Sequence[File] = ()) -> Json:
        """Send a new message. `@` and a user id address the direct channel with that user."""
        if channel_id.startswith("@"):
            channel_id = await self._direct_channel(channel_id[1:])
        return await self._write("POST", "/channels/{channel_id}/messages", content, files, channel_id=channel_id)

    async def edit(self, channel_id: str, message_id: str, content: Json, files: Sequence[File] = ()) -> Json:
        """Edit a message; fields that the content lacks stay unchanged."""
        place = {"channel_id": channel_id, "message_id": message_id}
        return await self._write("PATCH", "/channels/{channel_id}/messages/{message_id}", content, files, **place)

    async def edit_original(self, ref: InteractionRef, content: Json, files: Sequence[File] = ()) -> Json:
        """Edit the deferred answer of a command, or the message whose button was pressed."""
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
        return await self._write_deferred("PATCH", path, ref, content, files)

    async def follow_up(self, ref: InteractionRef, content: Json, files: Sequence[File] = ()) -> Json:
        """Send another message for the interaction, with the visibility of `ref`. Not repeated if it may have arrived,
        because no nonce would hide the copy."""
        return await self._write_deferred("POST", "/webhooks/{webhook_id}/{webhook_token}", ref, content, files)

    def accepts(self, ref: InteractionRef) -> bool:
        """Whether the interaction may still take an answer."""
        return ref.alive(self.clock()) and ref.interaction_id not in self._forgotten

    def forget(self, interaction_id: int) -> None:
        """Note that Discord does not know this interaction, so that nothing more is sent to it."""
        self._forgotten.append(interaction_id)

    def inherits(self, asked: float) -> bool:
        """Whether an earlier process may have started the answer with a nonce that is still valid."""
        return asked < self._began and self.clock() - asked < PROTECTED_SECONDS

    async def type(self, channel_id: str) -> None:
        """Show typing for ten seconds, or until a message arrives."""
        await self.call("POST", "/channels/{channel_id}/typing", channel_id=channel_id)

    async def call(self, method: str, path: str, content: Json | None = None, **place: Any) -> Any:
        """Make a call. The library waits for rate limits. Raises `failures.CALL_ERRORS`."""
        given = {} if content is None else {"json": content}
        return await self._request(Route(method, path, **place), self.answer, **given)

    async def pause(self, key: str) -> None:
        """Wait until this preview may be edited again."""
        if (before := self.shown.get(key)) is not None:
            await asyncio.sleep(before.at + self.pace.edit_gap - asyncio.get_running_loop().time())

    def keep_shown(self, key: str, content: str, message: Json) -> None:
        """Remember what a preview shows, from Discord's response, because the nonce may have matched an older
        message."""
        text = content if message.get("content", content) == content else ""
        self.shown[key] = Shown(text, str(message["id"]), asyncio.get_running_loop().time())

    def in_guild(self, channel_id: str) -> bool:
        """Whether this is a server channel, as far as the client knows."""
        return getattr(self.client.get_channel(int(channel_id)), "guild", None) is not None

    async def best_effort(self, work: Coroutine[None, None, Any]) -> None:
        """Make a call that may fail."""
        try:
            await work
        except CALL_ERRORS as error:
            log.debug("a call failed: %s", type(error).__name__)

    async def _direct_channel(self, user_id: str) -> str:
        known = self._direct.get(user_id)
        if known is None:
            known = str((await self.call("POST", "/users/@me/channels", {"recipient_id": user_id}))["id"])
            self._direct[user_id] = known
        return known

    async def _write_deferred(
        self, method: str, path: str, ref: InteractionRef, content: Json, files: Sequence[File]
    ) -> Json:
        """Make a call with the interaction's token, which Discord does not know before the deferral has arrived."""
        attempts = 0
        while True:
            try:
                place = {"webhook_id": self.client.application_id, "webhook_token": ref.token}
                return await self._write(method, path, content, files, **place)
            except discord.NotFound as error:
                attempts += 1
                young = self.clock() - created(ref.interaction_id) < _DEFERRING
                hopeless = not young or not self.accepts(ref) or attempts >= _DEFER_ATTEMPTS
                if error.code != UNKNOWN_WEBHOOK or hopeless:
                    raise
            await asyncio.sleep(_DEFER_GAP)

    async def _write(self, method: str, path: str, content: Json, files: Sequence[File], **place: Any) -> Json:
        route = Route(method, path, **place)
        given: Json = {"raise_for_status": _raise_5xx} if method == "POST" and "webhook_token" in place else {}
        content = content | {"allowed_mentions": MENTIONS}
        if files:
            named = [{"id": number, "filename": file.name} for number, file in enumerate(files)]
            form: list[Json] = [{"name": "payload_json", "value": json.dumps(content | {"attachments": named})}]
            for number, file in enumerate(files):
                form.append({"name": f"files[{number}]", "filename": file.name, **_form_field(file)})
            given["form"] = form
        else:
            given["json"] = content
        result: Json = await self._request(route, self.answer + _UPLOAD * bool(files), **given)
        return result

    async def _request(self, route: Route, seconds: float, **given: Any) -> Any:
        client = self.client
        if client.application_id is None or client.is_closed():
            raise Offline("not connected to Discord")
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=_CONNECT)
        with release_rate_limit(client):
            return await client.http.request(route, timeout=timeout, **given)


def created(snowflake: int) -> float:
    """The creation time of an id in Unix seconds."""
    return (snowflake >> 22) / 1000 + EPOCH


def body(text: str, controls: Sequence[Json] = (), flags: int = 0) -> Json:
    """The content of a message. Without `controls`, existing ones are removed; links show no preview."""
    return {"content": text, "components": list(controls), "flags": _NO_EMBEDS | flags}


def _form_field(file: File) -> Json:
    if isinstance(file, Picture):
        return {"value": file.data, "content_type": "image/png"}
    if isinstance(file, OutgoingFile):
        return {"value": file.data, "content_type": file.mime or "application/octet-stream"}
    return {"value": file.text.encode(errors="replace"), "content_type": "application/octet-stream"}


async def _raise_5xx(response: aiohttp.ClientResponse) -> None:
    """Passed to a call so that the library does not repeat it after a server error."""
    if response.status >= 500:
        raise discord.DiscordServerError(response, None)
