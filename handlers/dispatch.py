"""Handles one inbound message in one transaction. This is the error boundary of the program."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from handlers.access.gate import AccessGate, say_for
from handlers.access.roles import may
from handlers.accounts.connecting import Connecting, cancelled
from handlers.chat import Chat
from handlers.context import MAX_ATTEMPTS, CommandContext, CommandSpec, Handler, Reply, unknown_command
from handlers.edits import Edits
from handlers.outgoing import OutgoingFiles
from handlers.parsing import Typed, merge, parse_command, typed_command
from handlers.post_turn import After, nothing
from handlers.replies.callback_buttons import CallbackButtons
from handlers.storage_retry import retry_storage
from routing.errors import Refused, StorageFault
from routing.ports import Ledger, LiveReply
from routing.tracing import turn_id
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage, UserKey
from routing.types.people import Person
from routing.types.queues import InboxEntry, OutboxEntry
from routing.types.stop import Stop

SHORT_TEXT = 2_000
"""Characters that fit into two messages on every platform, with or without code."""
NOTHING = Reply("")

log = logging.getLogger("handlers")

Queue = Literal["turns", "answers", "commands"]
CommandTable = Mapping[str, tuple[CommandSpec, Handler]]


@dataclass(frozen=True, slots=True)
class TextHandlers:
    """What handles messages that are not commands: questions, edits, and answers to /connect."""

    chat: Chat
    edits: Edits
    connecting: Connecting


class Dispatcher:
    """Passes admitted messages to their command or to the chat."""

    def __init__(
        self,
        gate: AccessGate,
        buttons: CallbackButtons,
        commands: CommandTable,
        texts: TextHandlers,
        ledger: Ledger,
        after: After = nothing,
    ) -> None:
        self._gate = gate
        self._buttons = buttons
        self._commands = commands
        self._chat = texts.chat
        self._edits = texts.edits
        self._connecting = texts.connecting
        self._ledger = ledger
        self._after = after

    async def knows(self, user: UserKey) -> bool:
        """Whether a person is allowed to write in private; False if the storage fails."""
        return await self._gate.knows(user)

    async def queue_of(self, message: InboundMessage) -> Queue:
        """Where the message waits: "turns" behind the running turn, "answers" behind other answers to /connect, and
        "commands" behind nothing that takes long, also if the storage fails."""
        try:
            if await self._is_answer(message):
                return "answers"
            if message.kind in ("edited", "unsupported"):
                return "commands"
            spec = await self._spec(message)
        except (Refused, StorageFault):
            return "commands"
        waits = spec.queued if spec is not None else message.kind in ("message", "press")
        return "turns" if waits else "commands"

    async def without_secrets(self, message: InboundMessage) -> InboundMessage:
        """The message as it may be stored: an answer to /connect is encrypted, and not quoted. A word that cancels
        becomes a command, which does not wait for other answers."""
        message = self._connecting.unquoted(message)
        try:
            if not await self._is_answer(message):
                return message
        except StorageFault:  # then it can't be stored either
            return message
        if self._connecting.cancels(message):
            return replace(message, text="/stop")
        return await self._connecting.seal(message)

    async def _is_answer(self, message: InboundMessage) -> bool:
        """Whether the message answers a question of /connect. Any command cancels that."""
        if message.sealed or message.form:
            return True
        typed = typed_command(message)
        return (typed is None or typed.name not in self._commands) and await self._connecting.expects(message)

    async def changes_settings(self, message: InboundMessage) -> bool:
        """Whether the message may change settings for later questions. True if the storage fails."""
        try:
            spec = await self._spec(message)
        except Refused:
            return False
        except StorageFault:
            return True
        return spec is not None and spec.changes

    async def _spec(self, message: InboundMessage) -> CommandSpec | None:
        """The command of a message or of a pressed button; None if it isn't a command of this bot. Raises Refused."""
        typed = typed_command(message)
        if message.kind == "press":
            typed = parse_command((await self._buttons.button(message)).command, message.bot_name)
        if typed is None:
            return None
        found = self._commands.get(typed.name)
        if found is None or typed.elsewhere:
            raise unknown_command(typed.name, self._commands.keys())
        return found[0]

    async def handle(self, entries: Sequence[InboxEntry], live: LiveReply, stop: Stop) -> Sequence[OutboxEntry]:
        """Answers messages that belong together, stores the result in one transaction, and returns the replies to
        send."""
        message = merge([entry.message for entry in entries])
        turn_id.set(secrets.token_hex(4))
        reply: Reply | None = None
        unfinished = ""
        try:
            reply = await retry_storage(self._reply, message, entries[0], live, stop)
            unfinished = await live.close()
            kept = await self._keep(entries, message, reply, unfinished)
        except Exception:  # dispatch: the person always gets a reply, and no message is retried forever
            if reply is None:
                log.exception("A message could not be handled")
                words = "⚠️ Something went wrong (turn {turn}). Please send it again; the log has the details."
            else:
                log.exception("The result of a message could not be saved")
                words = "⚠️ I couldn't save my answer (turn {turn}). Please ask in other words; the log has the details."
            sorry = Reply(say_for(None, message)(words, turn=turn_id.get()), apart=True)
            return await self._keep(entries, message, sorry, unfinished or await live.close())
        self._after(message, reply)
        return kept

    async def _keep(
        self, entries: Sequence[InboxEntry], message: InboundMessage, reply: Reply, unfinished: str
    ) -> Sequence[OutboxEntry]:
        """Stores everything about a message in one transaction."""
        replies = [_outbound(message, reply, unfinished)] if reply.text else []
        return await retry_storage(self._ledger.finish, [entry.id for entry in entries], replies, reply.record)

    async def _reply(self, message: InboundMessage, entry: InboxEntry, live: LiveReply, stop: Stop) -> Reply:
        try:
            ask = await self._admitted(message, entry, live, stop)
        except Refused as refusal:
            return Reply(say_for(None, message)(refusal.template, **refusal.values))
        if isinstance(ask, Reply):
            return ask
        typed = typed_command(message)
        try:
            if message.kind == "press":
                button = await self._buttons.button(message, ask.person.id)
                ask, typed = replace(ask, button=button), parse_command(button.command, message.bot_name)
            reply = await self._handling(ask, typed, await self._is_answer(ask.message))
            attached = ask.say("📎 {name} is attached.")
            return replace(reply, owner=ask.person.id, attached=attached, files=ask.files.files)
        except Refused as refusal:
            words = ask.say(refusal.template, **refusal.values)
            if message.kind == "press":
                await live.acknowledge(words)
                return NOTHING
            return Reply(words)

    def _handling(self, ask: CommandContext, typed: Typed | None, connects: bool) -> Awaitable[Reply]:
        """Handles this kind of message; `connects`: it answers a question of /connect. The result raises Refused."""
        if connects:
            return self._connecting.answer(ask, given_up=ask.attempts >= MAX_ATTEMPTS)
        if ask.message.kind == "edited":
            return self._edits.answer(ask)
        if ask.message.kind == "unsupported":
            return _unreadable(ask)
        if ask.attempts >= MAX_ATTEMPTS:
            return self._give_up(ask, typed)
        return self._chat.answer(ask) if typed is None else self._command(ask, typed)

    async def _give_up(self, ask: CommandContext, typed: Typed | None) -> Reply:
        given_up = "⚠️ I was interrupted {times} times and stopped trying. Send it again, or use /retry."
        sorry = ask.say(given_up, times=ask.attempts)
        return Reply(sorry, apart=True) if typed else await self._chat.unanswered(ask, sorry)

    async def _command(self, ask: CommandContext, typed: Typed) -> Reply:
        found = self._commands.get(typed.name)
        if found is None or (found[0].press_only and ask.button is None):
            known = [name for name, (spec, _) in self._commands.items() if not spec.press_only]
            raise unknown_command(typed.name, known)
        spec, handler = found
        if not may(ask.person, spec.role):
            words = "/{name} needs the role {role} or higher; yours is {mine}."
            raise Refused(words, name=spec.name, role=spec.role, mine=ask.person.role)
        if spec.most_words is not None and len(typed.arguments) > spec.most_words:
            raise Refused("Write {usage}. Nothing was changed.", usage=", ".join(spec.usage))
        log.info("[Command] /%s", spec.name)
        ask = replace(ask, arguments=typed.arguments, rest=typed.rest)
        if ask.button is None and (kind := await self._connecting.cancel(ask.message)) and spec.name != "connect":
            return await self._run_cancelling(ask, spec, handler, cancelled(ask, kind))
        return await self._run(ask, spec, handler)

    async def _run_cancelling(self, ask: CommandContext, spec: CommandSpec, handler: Handler, told: str) -> Reply:
        """Run a command that cancelled /connect, and say so in any case: the next message goes to a model."""
        try:
            reply = await self._run(replace(ask, cancelled=True), spec, handler)
        except Refused as refusal:
            reply = Reply(ask.say(refusal.template, **refusal.values))
        return replace(reply, text=f"{reply.text}\n\n{told}".strip())

    async def _run(self, ask: CommandContext, spec: CommandSpec, handler: Handler) -> Reply:
        if not spec.queued:
            return await handler(ask)
        stays = ask.button is None or spec.press_only or ask.rest.lower() in spec.repeatable
        await ask.live.acknowledge(spent=not stays and not ask.attempts)
        try:
            return await handler(ask)
        except Refused as refusal:  # the command waited in the queue, too late for a pop-up at the button
            return Reply(ask.say(refusal.template, **refusal.values), apart=True)

    async def _admitted(
        self, message: InboundMessage, entry: InboxEntry, live: LiveReply, stop: Stop
    ) -> CommandContext | Reply:
        """The request of a person with access, within the rate limit; else the reply. A button press gets no reply,
        only a pop-up."""
        typed = typed_command(message)
        if typed is not None and typed.elsewhere:
            return NOTHING
        person = await self._gate.admit(message)
        if isinstance(person, Person):
            say = say_for(person, message)
            return CommandContext(
                turn_id.get(),
                message,
                person,
                say,
                live,
                stop,
                attempts=entry.attempts,
                fixed=entry.fixed,
                files=OutgoingFiles(live.max_file_bytes),
            )
        if person is not None and message.kind == "press":
            await live.acknowledge(person.text)
            return NOTHING
        return person or NOTHING


async def _unreadable(ask: CommandContext) -> Reply:
    if ask.message.extension:
        words = "I can't open {ending} files. Send text, pictures, text documents or voice messages."
        return Reply(ask.say(words, ending=ask.message.extension))
    words = "I can't read {thing}. Send text, pictures, text documents or voice messages."
    return Reply(ask.say(words, thing=ask.say(ask.message.text)))


def _outbound(message: InboundMessage, reply: Reply, unfinished: str) -> OutboundMessage:
    """Builds the reply to the message's chat. A menu is redrawn in place and a turn continues in its own message.
    A reply with a file or a picture never redraws a menu."""
    bare = reply.document is None and reply.picture is None and not reply.files
    menu = reply.record is None and bare and not reply.apart
    redrawn = message.press.message_id if message.press and menu else ""
    return OutboundMessage(
        chat=message.chat,
        text=reply.text,
        reply_to="" if message.press else message.message_id,
        edits=redrawn or unfinished,
        owner=reply.owner,
        buttons=reply.buttons,
        document=reply.document,
        picture=reply.picture,
        secret=reply.secret,
        attached=reply.attached if len(reply.text) > SHORT_TEXT else "",
        files=reply.files,
        otherwise=ChatKey.of(message.user) if message.scheduled and not message.private else None,
    )
