"""Final replies: sent as messages, written over a preview, or sent as the answer to an interaction."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import discord

from bot.adapters.discord.client import Json
from bot.adapters.discord.context import EPHEMERAL, PROTECTED_SECONDS, ClientContext, File, InteractionRef, created
from bot.adapters.discord.failures import CALL_ERRORS, Refusal, failure, may_have_arrived, reason, refused_as
from bot.adapters.discord.parts import MAX_NONCE_CHARACTERS, Part, parts, written_out
from bot.adapters.shared.outbound import FileRefused, PieceSender
from bot.platform import SendFailed, SendRefused, Sent
from handlers.languages import Say
from routing.bounded import Bounded
from routing.types.messages import OutboundMessage

TOO_LATE_FOR_ONE = (
    "📭 Your answer is private and came too late to be shown here, and I can't "
    "send you direct messages. Please ask again."
)
_REMEMBERED = 256  # unconfirmed pieces

log = logging.getLogger(__name__)

_Write = Callable[[Json, Sequence[File]], Awaitable[Json]]


class _WholeAnswerRefused(Exception):
    """Discord refused the file with the whole answer, which is then sent as text."""


@dataclass(slots=True)
class Target:
    """Where a reply goes, and the alternative if that is gone.

    `asked` is the time of the question in Unix seconds, 0 if unknown. `person` is set when the interaction takes no
    more answers and only this person may see the rest. `unreachable`: this person accepts no direct messages, and the
    channel got a note.
    """

    channel_id: str
    parent_id: str
    ref: InteractionRef | None
    edits: str
    reply_to: str
    asked: float
    person: InteractionRef | None = None
    unreachable: bool = False
    note_id: str = ""

    @staticmethod
    def of(message: OutboundMessage) -> Target:
        """The target of a reply. References to interactions are stored in the message's `reply_to` or `edits`."""
        chat, pressed = message.chat, InteractionRef.unpack(message.edits)
        ref = pressed or InteractionRef.unpack(message.reply_to)
        if ref is not None and message.apart:
            ref = ref.beside()
        reply_to = message.reply_to if message.reply_to.isdigit() else ""
        asked = ref.interaction_id if ref else int(reply_to or 0)
        reply_to = reply_to if reply_to != chat.topic else ""  # the thread was started from that message
        edits = "" if pressed else message.edits
        channel_id = chat.topic or chat.chat_id
        return Target(channel_id, chat.chat_id, ref, edits, reply_to, created(asked) if asked else 0.0)

    @property
    def room(self) -> str:
        """The channel for a message; `@` and a user id for a direct channel."""
        return self.channel_id if self.person is None or self.unreachable else f"@{self.person.user_id}"

    def leave_interaction(self) -> None:
        """The interaction takes no more answers: send the rest to the channel, or to the person if it is private."""
        if self.ref is not None and self.ref.ephemeral:
            self.person, self.edits = self.ref, ""
        self.ref = None

    def leave_thread(self) -> bool:
        """Continue in the parent of a deleted thread; False if there is none."""
        if self.room != self.channel_id or self.channel_id == self.parent_id:
            return False
        self.channel_id = self.parent_id
        return True

    def leave_person(self) -> str:
        """The person accepts no direct messages. Returns a note for the channel; empty if none is needed."""
        if self.person is None or self.unreachable:
            return ""
        self.unreachable = True
        return f"<@{self.person.user_id}> {Say(self.person.language)(TOO_LATE_FOR_ONE)}"


class Outbound:
    """Sends replies. Network and Discord errors are raised as SendLater or SendRefused."""

    def __init__(self, context: ClientContext) -> None:
        self._context = context
        self._unconfirmed = Bounded[str, float](_REMEMBERED)
        """Per nonce, the time at which a piece may first have arrived without confirmation."""
        self._pieces: PieceSender[Part] = PieceSender()

    async def send(
        self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool
    ) -> AsyncIterator[Sent]:
        """See Platform.send. Yields nothing if all pieces were sent before."""
        made = parts(message, outbox_id)
        if not made:
            raise SendRefused("the reply has no visible content")
        if made[0].whole and first_piece:  # a reply sent as a file has one piece, so its file was refused earlier
            made = parts(message, outbox_id, in_full=True)
        target, index = Target.of(message), first_piece
        while index < len(made):
            deliver = partial(self._deliver, target, recovered and index == first_piece)
            instead = partial(written_out, message, outbox_id, index + 1)
            try:
                sent = await self._pieces.send((outbox_id, index), made[index], deliver, instead)
            except _WholeAnswerRefused:
                made = parts(message, outbox_id, in_full=True)
                continue
            index += 1
            last = index == len(made) or target.unreachable
            yield Sent(sent, last)
            if last:
                return

    async def _deliver(self, target: Target, again: bool, part: Part) -> str:
        """Send one message and return its id."""
        if target.unreachable:
            return target.note_id
        if target.ref is not None:
            if self._context.accepts(target.ref) and (sent := await self._answer(target.ref, part, again)):
                return sent
            target.leave_interaction()
        if part.first and target.edits and (sent := await self._edit(target, part)):
            return sent
        if target.person is not None:  # a button in the direct channel would belong to no conversation
            part = replace(part, controls=())
        return await self._new(target, part, again)

    async def _answer(self, ref: InteractionRef, part: Part, again: bool) -> str:
        """Answer the interaction and return the message's id; empty if it takes no more answers."""
        rewriting = part.first and not ref.apart
        if rewriting and (sent := await self._as_shown(str(ref.interaction_id), part)):
            return sent
        if again and not rewriting:  # follow-ups have no nonce
            part = part.marked()
        write = partial(self._context.edit_original if rewriting else self._context.follow_up, ref)
        try:
            return await self._write(write, part.content(0 if rewriting else EPHEMERAL * ref.ephemeral), part)
        except CALL_ERRORS as error:
            if refused_as(error, Refusal.INTERACTION, Refusal.NOT_EDITABLE):
                log.info("An interaction has expired (%s); its answer goes to the channel", reason(error))
                return ""
            raise failure(error, repeatable=rewriting) from error

    async def _edit(self, target: Target, part: Part) -> str:
        """Edit a message and return its id; empty if it can't be edited and a new one is needed. Repeating an edit is
        harmless."""
        if sent := await self._as_shown(target.edits, part):
            return sent
        try:
            write = partial(self._context.edit, target.channel_id, target.edits)
            return await self._write(write, part.content(), part)
        except CALL_ERRORS as error:
            if refused_as(error, Refusal.NOT_EDITABLE, Refusal.CHANNEL):
                return ""
            raise failure(error, repeatable=True) from error

    async def _new(self, target: Target, part: Part, again: bool) -> str:
        """Send a new message. If the message it replies to or its thread is gone, it is sent without them."""
        now = self._context.clock()
        if again:  # an earlier process may have sent it, at the earliest when the question was asked
            self._note_unconfirmed(part.nonce, target.asked)
        if self._unconfirmed_for(part, now) >= PROTECTED_SECONDS:
            part = part.marked()
        content = part.content() | {"nonce": part.nonce, "enforce_nonce": True}
        if part.first and target.reply_to and self._context.in_guild(target.channel_id):
            content["message_reference"] = {"message_id": target.reply_to, "fail_if_not_exists": False}
        while True:
            try:
                sent = await self._write(partial(self._context.send, target.room), content, part)
            except CALL_ERRORS as error:
                if refused_as(error, Refusal.REFERENCE) and content.pop("message_reference", None):
                    continue
                if refused_as(error, Refusal.CHANNEL) and target.leave_thread():
                    continue
                if refused_as(error, Refusal.PERSON) and (words := target.leave_person()):
                    log.info("Someone doesn't accept direct messages; their channel gets a note instead")
                    target.note_id = await self._new(
                        target, Part(words, f"shut-{part.nonce}"[:MAX_NONCE_CHARACTERS]), False
                    )
                    return target.note_id
                raise self._failure(error, part, now) from error
            self._unconfirmed.pop(part.nonce, None)
            return sent

    def _failure(self, error: BaseException, part: Part, now: float) -> SendFailed:
        """The error for a new message, which may have arrived in this attempt or an earlier one."""
        if may_have_arrived(error):
            self._note_unconfirmed(part.nonce, now)
        return failure(error, repeatable=False, protected=self._unconfirmed_for(part, now) < PROTECTED_SECONDS)

    async def _write(self, write: _Write, content: Json, part: Part) -> str:
        """Make the call and return the message's id. Raises FileRefused or _WholeAnswerRefused if Discord
        refuses the files."""
        try:
            return str((await write(content, part.files))["id"])
        except discord.HTTPException as error:
            if not part.files or not (refused_as(error, Refusal.FILE) or error.status == 403):
                raise
            log.warning("Discord refused a file: %s", error.text or error.status)  # `reason` is about messages
            if part.whole:
                raise _WholeAnswerRefused from error
            raise FileRefused(error.text or str(error.status)) from error

    async def _as_shown(self, key: str, part: Part) -> str:
        """The id of a preview that already shows this part; empty once the preview may be edited."""
        shown = self._context.shown.get(key)
        if shown is not None and shown.text == part.text and not part.files and not part.controls:
            sent = shown.message_id
        else:
            await self._context.pause(key)
            sent = ""
        self._context.shown.pop(key, None)
        return sent

    def _note_unconfirmed(self, nonce: str, since: float) -> None:
        if self._unconfirmed.get(nonce) is None:
            self._unconfirmed[nonce] = since

    def _unconfirmed_for(self, part: Part, now: float) -> float:
        """Seconds since this part may first have arrived."""
        since = self._unconfirmed.get(part.nonce)
        return 0.0 if since is None else now - since
