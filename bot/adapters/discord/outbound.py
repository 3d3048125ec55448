"""Final replies: Markdown in pieces, sent, written over a preview, or as the answer to an interaction.

Very long output is a file with its beginning as text. A file comes with the last piece.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import discord

from bot.adapters.discord.buttons import components
from bot.adapters.discord.failure import TROUBLES, Refusal, failure, may_have_arrived, reason, refusal
from bot.adapters.discord.origin import Origin, created
from bot.adapters.discord.stage import EPHEMERAL, Json, Stage, body
from bot.platform import SendFailed, SendLater, SendRefused, Sent
from bot.rendering.discord import MAX_TEXT, pieces
from routing.types import Document, OutboundMessage

RECOVERED = "(recovered)"
MOST_PIECES = 5
WHOLE_ANSWER = "answer.md"
PROTECTED = 120.0  # seconds in which a nonce surely keeps Discord from showing a message twice
_ROOM = 16  # characters of a message for the mark before it or the dots after it
_DOUBTS = 256  # pieces remembered

log = logging.getLogger(__name__)

_Write = Callable[[Json, Sequence[Document]], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class _Part:
    """One message."""

    text: str
    files: tuple[Document, ...] = ()
    controls: tuple[Json, ...] = ()

    def content(self, flags: int = 0) -> Json:
        return body(self.text, self.controls, flags)


@dataclass(slots=True)
class _Target:
    """Where a reply goes; what it belongs to may turn out to be gone on the way. `asked` is when, 0 if unknown."""

    channel_id: str
    parent_id: str
    origin: Origin | None
    edits: str
    reply_to: str
    asked: float


class Outbound:
    """Sends replies. All errors of the network and of Discord leave as SendLater or SendRefused."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._failures = 0
        self._doubts: dict[str, float] = {}
        """Since when a piece may have arrived without our knowing it, by its nonce."""

    async def send(
        self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool
    ) -> AsyncIterator[Sent]:
        """See Platform.send. Yields nothing when every piece had been sent."""
        parts = _parts(message, outbox_id)
        if not parts:
            raise SendRefused("the reply holds nothing visible")
        target = _target(message)
        for index in range(first_piece, len(parts)):
            again = recovered and index == first_piece
            sent = await self._deliver(target, parts[index], f"{outbox_id}-{index}", index == 0, again)
            yield Sent(sent, index == len(parts) - 1)

    async def _deliver(self, target: _Target, part: _Part, nonce: str, first: bool, again: bool) -> str:
        """The message's id."""
        origin = target.origin
        alive = origin is not None and origin.alive(self._stage.clock())
        if origin and alive and (sent := await self._answer(origin, part, first, again)):
            return sent
        target.origin = None
        if first and target.edits and (sent := await self._edit(target, part)):
            return sent
        return await self._new(target, part, nonce, first, again)

    async def _answer(self, origin: Origin, part: _Part, first: bool, again: bool) -> str:
        """The message's id, or empty when the interaction takes no answer any more."""
        rewriting = first and not origin.apart
        key = str(origin.interaction_id)
        if rewriting and (sent := await self._as_shown(key, part)):
            return sent
        if again and not rewriting:  # no nonce protects these
            part = _marked(part)
        write = partial(self._stage.original if rewriting else self._stage.follow_up, origin)
        try:
            return await self._carried(write, part.content(0 if rewriting else EPHEMERAL * origin.ephemeral), part)
        except TROUBLES as error:
            if _is(error, Refusal.ORIGIN, Refusal.NOT_EDITABLE):
                log.info("An interaction takes no answer any more (%s); it goes to the channel", reason(error))
                return ""
            raise self._failed(error, repeatable=rewriting) from error

    async def _edit(self, target: _Target, part: _Part) -> str:
        """The message's id, or empty when it cannot be edited and a new one is due. A repetition does no harm."""
        if sent := await self._as_shown(target.edits, part):
            return sent
        try:
            return await self._carried(partial(self._stage.edit, target.channel_id, target.edits), part.content(), part)
        except TROUBLES as error:
            if _is(error, Refusal.NOT_EDITABLE, Refusal.CHANNEL):
                return ""
            raise self._failed(error, repeatable=True) from error

    async def _new(self, target: _Target, part: _Part, nonce: str, first: bool, again: bool) -> str:
        """A message of its own, without what it answers or in the parent channel where those are gone."""
        now = self._stage.clock()
        if (again or nonce in self._doubts) and now - self._doubts.get(nonce, target.asked) >= PROTECTED:
            part = _marked(part)
        content = part.content() | {"nonce": nonce, "enforce_nonce": True}
        if first and target.reply_to and self._stage.in_guild(target.channel_id):
            content["message_reference"] = {"message_id": target.reply_to, "fail_if_not_exists": False}
        while True:
            try:
                sent = await self._carried(partial(self._stage.send, target.channel_id), content, part)
            except TROUBLES as error:
                if _is(error, Refusal.REFERENCE) and content.pop("message_reference", None):
                    continue
                if _is(error, Refusal.CHANNEL) and target.channel_id != target.parent_id:
                    target.channel_id = target.parent_id
                    continue
                if may_have_arrived(error):
                    self._doubt(nonce, now)
                failed = self._failed(error, protected=True)
                if isinstance(failed, SendLater) and nonce in self._doubts:
                    failed.maybe_sent = True
                raise failed from error
            self._doubts.pop(nonce, None)
            return sent

    async def _carried(self, write: _Write, content: Json, part: _Part) -> str:
        """The message's id. Where a file is refused, the person learns that and why."""
        try:
            result = await write(content, part.files)
        except discord.HTTPException as error:
            if not part.files or not (_is(error, Refusal.FILE) or error.status == 403):
                raise
            log.warning("Discord refuses a file: %s", reason(error))
            note = "".join(f"\n⚠️ {file.name}: {error.text or error.status}" for file in part.files)
            text = f"{part.text[: MAX_TEXT - len(note)]}{note}".strip()
            result = await write(content | {"content": text}, ())
        self._failures = 0
        return str(result["id"])

    async def _as_shown(self, key: str, part: _Part) -> str:
        """The id of a preview that shows the part already; else empty, as soon as it may be edited."""
        shown = self._stage.shown.get(key)
        if shown is not None and shown.text == part.text and not part.files and not part.controls:
            sent = shown.message_id
        else:
            await self._stage.pause(key)
            sent = ""
        self._stage.shown.pop(key, None)
        return sent

    def _failed(self, error: BaseException, repeatable: bool = False, protected: bool = False) -> SendFailed:
        failed = failure(error, self._failures, repeatable, protected)
        self._failures += 1
        return failed

    def _doubt(self, nonce: str, since: float) -> None:
        self._doubts.setdefault(nonce, since)
        if len(self._doubts) > _DOUBTS:
            del self._doubts[next(iter(self._doubts))]


def _parts(message: OutboundMessage, outbox_id: int) -> list[_Part]:
    """One message each; the last has files and controls."""
    texts = pieces(message.text, MAX_TEXT - _ROOM)
    files = () if message.document is None else (message.document,)
    if len(texts) > MOST_PIECES:
        texts, files = (f"{texts[0]}\n…",), (Document(WHOLE_ANSWER, message.text), *files)
    parts = [_Part(text) for text in texts or ("",) * len(files)]
    if parts:
        parts[-1] = replace(parts[-1], files=files, controls=tuple(components(message.buttons, outbox_id)))
    return parts


def _target(message: OutboundMessage) -> _Target:
    """Origins travel where ids of messages do."""
    chat, pressed = message.chat, Origin.unpack(message.edits)
    origin = pressed or Origin.unpack(message.reply_to)
    reply_to = message.reply_to if message.reply_to.isdigit() else ""
    asked = origin.interaction_id if origin else int(reply_to or 0)
    reply_to = reply_to if reply_to != chat.thread_id else ""  # a thread stands below the message that it began with
    edits = "" if pressed else message.edits
    where = chat.thread_id or chat.chat_id
    return _Target(where, chat.chat_id, origin, edits, reply_to, created(asked) if asked else 0.0)


def _marked(part: _Part) -> _Part:
    """A heading, a quote or a block begins a line."""
    gap = " " if part.text[:1].isalnum() else "\n"
    return replace(part, text=f"{RECOVERED}{gap}{part.text}".rstrip())


def _is(error: BaseException, *kinds: Refusal) -> bool:
    return isinstance(error, discord.HTTPException) and refusal(error) in kinds
