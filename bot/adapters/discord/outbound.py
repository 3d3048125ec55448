"""Final replies: Markdown in pieces, sent, written over a preview, or as the answer to an interaction.

Very long output is a file with its beginning as text. Files come with the last piece.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

import discord

from bot.adapters.discord.failure import TROUBLES, Refusal, failure, may_have_arrived, reason, refusal
from bot.adapters.discord.origin import Origin
from bot.adapters.discord.parts import NONCE, Part, parts, written_out
from bot.adapters.discord.stage import EPHEMERAL, PROTECTED, File, Json, Stage
from bot.adapters.discord.target import Target
from bot.platform import SendFailed, SendRefused, Sent
from handlers.recent import Recent
from routing.types import OutboundMessage

_REMEMBERED = 256  # pieces

log = logging.getLogger(__name__)

_Write = Callable[[Json, Sequence[File]], Awaitable[Json]]


class _Unattached(Exception):
    """Files are refused. The person learns why, and the whole answer goes as text, however long it is."""

    def __init__(self, error: discord.HTTPException) -> None:
        super().__init__(error.text)
        self.reason = error.text or str(error.status)


class Outbound:
    """Sends replies. All errors of the network and of Discord leave as SendLater or SendRefused."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._doubts: dict[str, float] = {}
        """Since when a piece may have arrived without our knowing it, by its nonce."""
        self._left: Recent[tuple[int, int], list[Part]] = Recent(_REMEMBERED)
        """By reply and piece: the messages that are left to send in place of refused files of code."""

    async def send(
        self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool
    ) -> AsyncIterator[Sent]:
        """See Platform.send. Yields nothing when every piece had been sent."""
        made = parts(message, outbox_id)
        if not made:
            raise SendRefused("the reply has no visible content")
        if made[0].whole and first_piece:  # once it was refused as a file; as one it has no further piece
            made = parts(message, outbox_id, in_full=True)
        target, index = Target.of(message), first_piece
        while index < len(made):
            again = recovered and index == first_piece
            try:
                sent = await self._piece(target, (outbox_id, index), made[index], again)
            except _Unattached as unattached:
                if made[index].whole:
                    made = parts(message, outbox_id, in_full=True)
                else:
                    code = written_out(message, outbox_id, made[index].instead, index + 1)
                    self._left.put((outbox_id, index), [made[index].noted(unattached.reason), *code])
                sent = await self._piece(target, (outbox_id, index), made[index], again)
            index += 1
            last = index == len(made) or target.shut
            yield Sent(sent, last)
            if last:
                return

    async def _piece(self, target: Target, place: tuple[int, int], part: Part, again: bool) -> str:
        """The id of its last message. Code in place of a refused file goes on where an earlier try was interrupted."""
        unsent = self._left.get(place) or [part]
        while True:
            sent = await self._deliver(target, unsent[0], place[1] == 0 and unsent[0].nonce == part.nonce, again)
            del unsent[0]
            if not unsent or target.shut:
                self._left.drop(place)
                return sent

    async def _deliver(self, target: Target, part: Part, first: bool, again: bool) -> str:
        """The message's id."""
        if target.origin is not None:
            if self._stage.opens(target.origin) and (sent := await self._answer(target.origin, part, first, again)):
                return sent
            target.leave_origin()
        if first and target.edits and (sent := await self._edit(target, part)):
            return sent
        if target.alone is not None:  # a press of a button there would not be found to come from where it belongs
            part = replace(part, controls=())
        return await self._new(target, part, first, again)

    async def _answer(self, origin: Origin, part: Part, first: bool, again: bool) -> str:
        """The message's id, or empty when the interaction takes no answer any more."""
        rewriting = first and not origin.apart
        key = str(origin.interaction_id)
        if rewriting and (sent := await self._as_shown(key, part)):
            return sent
        if again and not rewriting:  # no nonce protects these
            part = part.marked()
        write = partial(self._stage.original if rewriting else self._stage.follow_up, origin)
        try:
            return await self._carried(write, part.content(0 if rewriting else EPHEMERAL * origin.ephemeral), part)
        except TROUBLES as error:
            if _is(error, Refusal.ORIGIN, Refusal.NOT_EDITABLE):
                log.info("An interaction has expired (%s); its answer goes to the channel", reason(error))
                return ""
            raise failure(error, repeatable=rewriting) from error

    async def _edit(self, target: Target, part: Part) -> str:
        """The message's id, or empty when it cannot be edited and a new one is due. A repetition does no harm."""
        if sent := await self._as_shown(target.edits, part):
            return sent
        try:
            return await self._carried(partial(self._stage.edit, target.channel_id, target.edits), part.content(), part)
        except TROUBLES as error:
            if _is(error, Refusal.NOT_EDITABLE, Refusal.CHANNEL):
                return ""
            raise failure(error, repeatable=True) from error

    async def _new(self, target: Target, part: Part, first: bool, again: bool) -> str:
        """A message of its own, without what it answers or in the parent channel where those are gone."""
        now = self._stage.clock()
        if again:  # by an earlier process, at the earliest when the question was asked
            self._doubt(part.nonce, target.asked)
        if now - self._doubts.get(part.nonce, now) >= PROTECTED:
            part = part.marked()
        content = part.content() | {"nonce": part.nonce, "enforce_nonce": True}
        if first and target.reply_to and self._stage.in_guild(target.channel_id):
            content["message_reference"] = {"message_id": target.reply_to, "fail_if_not_exists": False}
        while True:
            try:
                sent = await self._carried(partial(self._stage.send, target.room), content, part)
            except TROUBLES as error:
                if _is(error, Refusal.REFERENCE) and content.pop("message_reference", None):
                    continue
                if _is(error, Refusal.CHANNEL) and target.leave_room():
                    continue
                if _is(error, Refusal.PERSON) and (words := target.leave_person()):
                    log.info("Someone doesn't accept direct messages; their channel gets a note instead")
                    return await self._new(target, Part(words, f"shut-{part.nonce}"[:NONCE]), False, False)
                raise self._unsent(error, part, now) from error
            self._doubts.pop(part.nonce, None)
            return sent

    def _unsent(self, error: BaseException, part: Part, now: float) -> SendFailed:
        """What became of a message of its own; it may have arrived, then or in an earlier attempt."""
        if may_have_arrived(error):
            self._doubt(part.nonce, now)
        young = now - self._doubts.get(part.nonce, now) < PROTECTED
        return failure(error, repeatable=False, protected=young)

    async def _carried(self, write: _Write, content: Json, part: Part) -> str:
        """The message's id. Raises _Unattached where its files are refused."""
        try:
            result = await write(content, part.files)
        except discord.HTTPException as error:
            if not part.files or not (_is(error, Refusal.FILE) or error.status == 403):
                raise
            log.warning("Discord refused a file: %s", reason(error))
            raise _Unattached(error) from error
        return str(result["id"])

    async def _as_shown(self, key: str, part: Part) -> str:
        """The id of a preview that shows the part already; else empty, as soon as it may be edited."""
        shown = self._stage.shown.get(key)
        if shown is not None and shown.text == part.text and not part.files and not part.controls:
            sent = shown.message_id
        else:
            await self._stage.pause(key)
            sent = ""
        self._stage.shown.pop(key, None)
        return sent

    def _doubt(self, nonce: str, since: float) -> None:
        self._doubts.setdefault(nonce, since)
        if len(self._doubts) > _REMEMBERED:
            del self._doubts[next(iter(self._doubts))]


def _is(error: BaseException, *kinds: Refusal) -> bool:
    return isinstance(error, discord.HTTPException) and refusal(error) in kinds
