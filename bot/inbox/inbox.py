"""Accepts messages from the platforms: stores them, then handles them in order per chat and concurrently across
chats."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from bot.adapters.shared.background import Background
from bot.adapters.shared.keyed_queue import KeyedQueue
from bot.inbox.admission import Admission
from bot.inbox.command_order import CommandOrder
from bot.outbox import OutboxSender
from bot.platform import SendFailed
from handlers.dispatch import Dispatcher
from handlers.languages import Say
from handlers.parsing import is_stop
from handlers.ratings import Reactions
from handlers.running import RunningTurns
from handlers.storage_retry import STUCK, TELL_SECONDS, retry_storage
from routing.bounded import Bounded
from routing.errors import StorageFault
from routing.ports import ChatStore, InboxStore, LiveReply
from routing.tracing import span
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage
from routing.types.queues import InboxEntry
from routing.types.stop import Stop

GATHER_SECONDS = 0.5
"""How long to wait for the rest of an album, or of a text that the platform split."""
CUT_LENGTH = 4000
"""A text of at least this length may have been split (Telegram clients split at 4096)."""

MARKS_AT_ONCE = 4
"""Concurrent calls that mark messages as waiting."""
BUSY_CHATS = 16
"""If more chats than this are being sent replies, or if turns wait to start, marks are paced: replies come first."""
BUSY_PAUSE_SECONDS = 1.0
"""Pause before each mark of a busy process, so MARKS_AT_ONCE chats a second are told."""
ANSWERED_CHATS = 1000
"""Chats remembered as answered, the newest. Only these, and private chats with a known person, are told that storage
fails."""
STORAGE_FAILS = (
    "⚠️ I can't save anything at the moment: the disk is full or the database is busy. Your message is not lost; I'll "
    "answer it as soon as I can."
)

log = logging.getLogger("bot.inbox")


class _AfterReplies:
    """A live reply that shows no text until earlier replies to the chat have arrived."""

    def __init__(self, live: LiveReply, sending: Callable[[], bool]) -> None:
        self._live = live
        self._sending = sending
        self.max_file_bytes = live.max_file_bytes
        self.working = live.working
        self.acknowledge = live.acknowledge
        self.erase = live.erase
        self.close = live.close

    def show(self, text: str) -> None:
        if not self._sending():
            self._live.show(text)


class Inbox:
    """Queues turns per chat. Commands, button presses and "stop" use another queue and do not wait for turns. Answers
    to /connect have a third one."""

    def __init__(
        self,
        store: InboxStore,
        chats: ChatStore,
        dispatcher: Dispatcher,
        outbox: OutboxSender,
        running: RunningTurns,
        reactions: Reactions,
        order: CommandOrder,
    ) -> None:
        """If `outbox` has a lease, messages are handled here once their chat is claimed (`bot/cluster.py`)."""
        self._lease = outbox.lease
        self._store = store
        self._chats = chats
        self._dispatcher = dispatcher
        self._outbox = outbox
        self._platforms = outbox.platforms
        self._running = running
        self._reactions = reactions
        self._order = order
        self._turns: KeyedQueue[ChatKey, InboxEntry] = KeyedQueue("[Inbox]", self._run_turn)
        self._commands: KeyedQueue[ChatKey, InboxEntry | asyncio.Event] = KeyedQueue("[Inbox]", self._run_command)
        """An event in the queue is set when the commands before it have been handled."""
        self._answers: KeyedQueue[ChatKey, InboxEntry] = KeyedQueue("[Inbox]", self._run_answer)
        """Answers to /connect: testing an account takes time, and commands do not wait for it."""
        self._behind: dict[int, asyncio.Event] = {}
        """Per inbox id, the commands that a turn waits for: a /tier just before a question applies to it. The same for
        an answer."""
        self._gathering: set[ChatKey] = set()
        """Chats whose next message may still get more parts."""
        self._background = Background("[Inbox]")
        self._admission = Admission()
        self._unmarked: dict[ChatKey, InboxEntry] = {}
        """Per chat, the newest waiting message that is not yet marked."""
        self._held: dict[ChatKey, InboxEntry] = {}
        """Per chat, the message whose turn waits until the process is less busy."""
        self._marking = 0
        self._answered = Bounded[ChatKey, bool](ANSWERED_CHATS)
        self._notified: set[ChatKey] = set()
        """Chats that were told that storage fails."""
        self._failing_since: float | None = None
        self.routing = asyncio.Lock()
        """Held while messages are stored, claimed and put into queues: those of a chat keep their order."""
        self._resumed = False
        self._new: set[int] = set()
        """Ids of messages that this process has stored before it resumed."""
        self._closing = False

    async def accept(self, messages: Sequence[InboundMessage]) -> None:
        """Store messages; they are durable on return. Duplicates are dropped."""
        async with self.routing:
            entries = await self._store_new(messages)
            if self._lease is not None:
                await self.route([entry for entry in entries if entry.held])
                self._lease.announce(entry.message.chat for entry in entries if not entry.held)
                return
            self._admission.accepted(len(entries))
            if not self._resumed:  # until then, `resume` reads them from the store in order
                self._new.update(entry.id for entry in entries)
                return
            for entry in entries:
                await self._route(entry)

    async def take(self, entries: Sequence[InboxEntry]) -> None:
        """Handle messages that are stored already."""
        if self._lease is not None:
            self._lease.announce(entry.message.chat for entry in entries)
            return
        async with self.routing:
            await self.route(entries)

    async def route(self, entries: Sequence[InboxEntry]) -> None:
        """Handle messages here. The caller holds `routing`."""
        self._admission.accepted(len(entries))
        for entry in entries:
            await self._route(entry)

    async def _store_new(self, messages: Sequence[InboundMessage]) -> Sequence[InboxEntry]:
        """Store messages and return the new ones. Raises StorageFault; the senders are told if the failure lasts."""
        now = asyncio.get_running_loop().time()
        messages = [await self._dispatcher.without_secrets(message) for message in messages]
        try:
            entries = await self._store.accept(messages)
        except StorageFault:
            if self._failing_since is None:
                self._failing_since = now
            if now - self._failing_since >= TELL_SECONDS:
                for message in messages:
                    if message.kind == "message" and await self._may_notify(message):
                        self._report_storage_failure(message)
            raise
        self._failing_since = None
        self._notified.clear()
        return entries

    async def _may_notify(self, message: InboundMessage) -> bool:
        """Whether the bot may send an error here: the chat has had a reply, or is a private chat with a known
        person."""
        if message.chat in self._notified or self._answered.get(message.chat):
            return True
        return message.private and await self._dispatcher.knows(message.user)

    def _report_storage_failure(self, message: InboundMessage) -> None:
        """Tell each chat once, bypassing the outbox because nothing can be stored."""
        if message.chat not in self._notified:
            self._notified.add(message.chat)
            words = Say(message.language)(STORAGE_FAILS)
            self._background.spawn(self._send_now(OutboundMessage(message.chat, words, message.message_id)))

    async def _send_now(self, message: OutboundMessage) -> None:
        with suppress(SendFailed):
            async for _ in self._platforms[message.chat.platform].send(message, 0, 0, False):
                pass

    async def resume(self) -> None:
        """Continue with messages that an earlier process left, before newer ones."""
        async with self.routing:
            entries = await self._store.unfinished()
            self._resumed = True
            if entries:
                log.info("[Inbox] Resuming %d unanswered messages", len(entries))
            for entry in entries:
                if entry.message.chat.platform in self._platforms:
                    begun = entry.id not in self._new  # perhaps, by an earlier process
                    await self._route(replace(entry, attempts=entry.attempts + begun))
            self._new.clear()

    @property
    def is_busy(self) -> bool:
        """Whether turns wait until the process has time for them."""
        return self._admission.has_line

    async def abandon(self) -> None:
        """Let go of all messages, and end what is under way: other processes handle them by now."""
        await asyncio.gather(self._turns.abandon(), self._answers.abandon(), self._commands.abandon())
        self._order.clear()
        self._behind.clear()
        self._unmarked.clear()
        self._running.queued = 0

    async def drain(self, seconds: float) -> None:
        """Start no turns, and give running ones at most `seconds`. The next start continues with the rest."""
        self._closing = True
        await asyncio.gather(
            self._turns.close(seconds),
            self._answers.close(seconds),
            self._commands.join(seconds),
            self._background.close(seconds),
        )
        await self._commands.close()

    async def _route(self, entry: InboxEntry) -> None:
        if self._closing:
            return
        message = entry.message
        if message.chat in self._turns and message.kind == "message" and is_stop(message.own_text):
            self._commands.put(message.chat, replace(entry, message=replace(message, text="/stop")))
            return
        match await self._dispatcher.queue_of(message):
            case "turns":
                self._queue_turn(entry)
            case "answers":
                self._put_behind_commands(entry)
                self._answers.put(message.chat, entry)
            case "commands":
                self._commands.put(message.chat, entry)

    async def _run_command(self, chat: ChatKey) -> None:
        entry = self._commands.take(chat)
        if isinstance(entry, asyncio.Event):
            entry.set()
            return
        await self._count_attempt([entry])
        if entry.message.kind == "reaction":
            await retry_storage(self._reactions.take, entry)
            return
        if self._order.waiting() and await self._dispatcher.changes_settings(entry.message):
            await self._order.fix_before(entry)
        await self._handle([entry], Stop())

    def _queue_turn(self, entry: InboxEntry) -> None:
        chat = entry.message.chat
        self._order.asked(entry)
        self._put_behind_commands(entry)
        if chat in self._turns and chat in self._running and chat not in self._gathering:
            self._mark_later(entry)
        self._turns.put(chat, entry)
        self._running.queued = self._turns.waiting

    def _put_behind_commands(self, entry: InboxEntry) -> None:
        """Let an entry wait for the commands before it."""
        chat = entry.message.chat
        if chat in self._commands:
            self._behind[entry.id] = asyncio.Event()
            self._commands.put(chat, self._behind[entry.id])

    async def _run_answer(self, chat: ChatKey) -> None:
        entry = self._answers.take(chat)
        if (before := self._behind.pop(entry.id, None)) is not None:
            await before.wait()
        await self._count_attempt([entry])
        await self._handle([entry], Stop())

    def _mark_later(self, entry: InboxEntry) -> None:
        if entry.message.scheduled is not None:
            return  # there is no message to mark
        self._unmarked[entry.message.chat] = entry
        if self._marking < MARKS_AT_ONCE:
            self._marking += 1
            self._background.spawn(self._mark())

    async def _mark(self) -> None:
        """Mark the newest waiting message of each chat; slowly if the process is busy."""
        try:
            while self._unmarked and not self._closing:
                if self._outbox.chats > BUSY_CHATS or self._admission.has_line:
                    await asyncio.sleep(BUSY_PAUSE_SECONDS)
                    if not self._unmarked:
                        return
                chat = next(iter(self._unmarked))
                entry = self._unmarked.pop(chat)
                if entry in self._turns.items(chat) or self._held.get(chat) is entry:
                    await self._platforms[chat.platform].waiting(entry.message)
        finally:
            self._marking -= 1

    async def _run_turn(self, chat: ChatKey) -> None:
        entries, stop = [self._turns.take(chat)], Stop()
        try:
            before = self._behind.pop(entries[0].id, None)
            if before is not None:
                await before.wait()
            with self._running.enter(chat, stop, entries[0].message.user):  # from here on /stop reaches it
                await self._gather(chat, entries)
                self._running.queued = self._turns.waiting
                for entry in entries:
                    self._behind.pop(entry.id, None)
                if self._admission.has_line:
                    self._held[chat] = entries[-1]
                    self._mark_later([entries[-1], *self._turns.items(chat)][-1])
                async with self._admission.turn(stop):
                    self._held.pop(chat, None)
                    if self._closing:
                        return  # the next start continues with it
                    await self._count_attempt(entries)
                    await self._handle([await self._order.begin(entries[0]), *entries[1:]], stop)
        finally:
            self._held.pop(chat, None)
            self._order.answered(entries)

    async def _count_attempt(self, entries: Sequence[InboxEntry]) -> None:
        """Count an attempt before it starts, so that a message that kills the process is tried only a few times. The
        first attempt is counted by the restart after it."""
        if repeated := [entry.id for entry in entries if entry.attempts]:
            await retry_storage(self._store.begin, repeated)

    async def _gather(self, chat: ChatKey, together: list[InboxEntry]) -> None:
        """Add the rest of an album or split text to its first message."""
        self._gathering.add(chat)
        try:
            while _may_continue(together[-1].message):
                following = await self._turns.peek(chat, GATHER_SECONDS)
                if following is None and self.routing.locked():  # the next part may still be waiting for storage
                    async with self.routing:
                        following = await self._turns.peek(chat, 0)
                if following is None or not _belong_together(together[-1].message, following.message):
                    break
                together.append(self._turns.take(chat))
        finally:
            self._gathering.discard(chat)

    async def _handle(self, entries: Sequence[InboxEntry], stop: Stop) -> None:
        first = entries[0]
        chat = first.message.chat
        STUCK.set(lambda: self._report_storage_failure(first.message))
        live: LiveReply = self._platforms[chat.platform].live(
            first.message,
            first.placeholder,
            await retry_storage(self._chats.streaming, chat),
            lambda message_id: self._store.placeholder(first.id, message_id),
        )
        if self._outbox.is_sending(chat):
            live = _AfterReplies(live, lambda: self._outbox.is_sending(chat))
        with span("message", {"tierbot.platform": chat.platform, "tierbot.kind": first.message.kind}):
            try:
                replies = await self._dispatcher.handle(entries, live, stop)
            finally:
                await live.close()
            self._outbox.take(replies)
        if replies:
            self._answered[chat] = True
        else:
            self._outbox.no_replies.note(first.message)


def _may_continue(message: InboundMessage) -> bool:
    """Whether more parts of this message may follow."""
    return bool(message.album) or (len(message.text) >= CUT_LENGTH and not message.attachments)


def _belong_together(one: InboundMessage, other: InboundMessage) -> bool:
    if one.user != other.user or one.scheduled or other.scheduled:
        return False
    if one.album or other.album:
        return one.album == other.album
    if one.forwarded_from != other.forwarded_from:
        return False
    return other.sent_at - one.sent_at <= 1 and not other.own_text.lstrip().startswith("/")
