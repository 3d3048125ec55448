"""Takes what the platforms bring: durable first, then in order for each conversation, side by side otherwise."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from bot.admission import Admission
from bot.ordering import CommandOrder
from bot.outbox import OutboxSender
from bot.platform import Platform, SendFailed
from bot.silences import Silences
from handlers.dispatch import Dispatcher
from handlers.languages import Say
from handlers.parsing import is_stop
from handlers.patience import STUCK, TELL_SECONDS, patiently
from handlers.ratings import Reactions
from handlers.running import RunningTurns
from routing.errors import StorageFault
from routing.ports import ChatStore, InboxStore, LiveReply
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage
from routing.types.queues import InboxEntry
from routing.types.stop import Stop

GATHER_SECONDS = 0.5
"""How long to wait for the rest of an album or of a text that the platform cut."""
CUT_LENGTH = 4000
"""A text at least this long may have been cut (Telegram's clients cut at 4096)."""

MARKS_AT_ONCE = 4
"""Calls on their way that show messages to be waiting."""
BUSY_CHATS = 16
"""With replies to more chats on their way, or turns that wait to begin, nothing is shown to be waiting: the replies
come first."""
TOLD_CHATS = 1000
"""Chats remembered that have had a reply, and so may be told that the storage fails."""
STORAGE_FAILS = (
    "⚠️ I can't save anything at the moment: the disk is full or the database is busy. Your message is not lost; I'll "
    "answer it as soon as I can."
)

log = logging.getLogger("bot.inbox")


class _AfterReplies:
    """A live reply that shows nothing of its answer before the earlier replies to the chat have arrived."""

    def __init__(self, live: LiveReply, sending: Callable[[], bool]) -> None:
        self._live = live
        self._sending = sending
        self.working = live.working
        self.acknowledge = live.acknowledge
        self.close = live.close

    def show(self, text: str) -> None:
        if not self._sending():
            self._live.show(text)


class Inbox:
    """One lane a chat for turns; commands, presses and "stop" go past it."""

    def __init__(
        self,
        store: InboxStore,
        chats: ChatStore,
        dispatcher: Dispatcher,
        outbox: OutboxSender,
        platforms: Mapping[str, Platform],
        running: RunningTurns,
        silences: Silences,
        reactions: Reactions,
        order: CommandOrder,
    ) -> None:
        self._order = order
        self._reactions = reactions
        self._silences = silences
        self._store = store
        self._chats = chats
        self._dispatcher = dispatcher
        self._outbox = outbox
        self._platforms = platforms
        self._running = running
        self._waiting: dict[ChatKey, deque[InboxEntry]] = {}
        self._arrived: dict[ChatKey, asyncio.Event] = {}
        self._passing: dict[ChatKey, asyncio.Task[None]] = {}
        self._behind: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._admission = Admission()
        self._unmarked: dict[ChatKey, InboxEntry] = {}
        """The newest message of each chat that waits and is not shown to be waiting yet."""
        self._marking = 0
        self._answered: dict[ChatKey, None] = {}
        self._told: set[ChatKey] = set()
        """Chats that know that the storage fails."""
        self._failing_since: float | None = None
        self._routing = asyncio.Lock()
        self._resumed = False
        self._closing = False

    async def accept(self, messages: Sequence[InboundMessage]) -> None:
        """Keep messages; when this returns they are durable. What is known already is dropped."""
        async with self._routing:
            entries = await self._kept(messages)
            self._admission.accepted(len(entries))
            for entry in entries if self._resumed else ():  # before that, `resume` finds them in their place
                await self._route(entry)

    async def _kept(self, messages: Sequence[InboundMessage]) -> Sequence[InboxEntry]:
        """Make them durable. Raises StorageFault, of which the people are told when it lasts."""
        now = asyncio.get_running_loop().time()
        try:
            entries = await self._store.accept(messages)
        except StorageFault:
            if self._failing_since is None:
                self._failing_since = now
            if now - self._failing_since >= TELL_SECONDS:
                for message in messages:
                    if message.kind == "message" and await self._may_be_told(message):
                        self._tell_stuck(message)
            raise
        self._failing_since = None
        self._told.clear()
        return entries

    async def _may_be_told(self, message: InboundMessage) -> bool:
        """Whether the bot answers there: the chat has had a reply, or it is the private chat of somebody known."""
        if message.chat in self._told or message.chat in self._answered:
            return True
        return message.private and await self._dispatcher.knows(message.user)

    def _tell_stuck(self, message: InboundMessage) -> None:
        """Once for each chat, past the outbox: nothing can be written down."""
        if message.chat not in self._told:
            self._told.add(message.chat)
            words = Say(message.language)(STORAGE_FAILS)
            self._spawn(self._send_now(OutboundMessage(message.chat, words, message.message_id)))

    async def _send_now(self, message: OutboundMessage) -> None:
        with suppress(SendFailed):
            async for _ in self._platforms[message.chat.platform].send(message, 0, 0, False):
                pass

    async def resume(self) -> None:
        """Take up what an earlier process left, ahead of what has come since."""
        async with self._routing:
            entries = await self._store.unfinished()
            self._resumed = True
            if entries:
                log.info("[Inbox] Resuming %d unanswered messages", len(entries))
            for entry in entries:
                if entry.message.chat.platform in self._platforms:
                    await self._route(entry)

    async def drain(self, seconds: float) -> None:
        """Begin nothing new; give running turns a moment, then leave them to the next start."""
        self._closing = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _route(self, entry: InboxEntry) -> None:
        if self._closing:
            return
        message = entry.message
        if message.chat in self._waiting and message.kind == "message" and is_stop(message.own_text):
            self._pass(replace(entry, message=replace(message, text="/stop")))
        elif await self._dispatcher.begins_turn(message):
            await self._enqueue(entry)
        else:
            self._pass(entry)

    def _pass(self, entry: InboxEntry) -> None:
        """Go past the turns of the chat, in order behind what went past them before."""
        chat = entry.message.chat
        task = self._spawn(self._handle_after(self._passing.get(chat), entry))
        self._passing[chat] = task
        task.add_done_callback(lambda _: self._passing.pop(chat) if self._passing.get(chat) is task else None)

    async def _handle_after(self, earlier: asyncio.Task[None] | None, entry: InboxEntry) -> None:
        await _ended(earlier)
        await patiently(self._store.begin, [entry.id])
        if entry.message.kind == "reaction":
            await patiently(self._reactions.take, entry)
            return
        if self._order.waiting() and await self._dispatcher.changes_settings(entry.message):
            await self._order.fix_before(entry)
        await self._handle([entry], Stop())

    async def _enqueue(self, entry: InboxEntry) -> None:
        chat = entry.message.chat
        self._order.asked(entry)
        if chat in self._passing:
            self._behind[entry.id] = self._passing[chat]
        if chat in self._waiting:
            self._waiting[chat].append(entry)
            self._arrived[chat].set()
            self._count()
            if chat in self._running:
                self._unmarked[chat] = entry
                if self._marking < MARKS_AT_ONCE:
                    self._marking += 1
                    self._spawn(self._mark())
        else:
            self._waiting[chat] = deque([entry])
            self._arrived[chat] = asyncio.Event()
            self._spawn(self._lane(chat))

    async def _mark(self) -> None:
        """Show that messages wait, the newest of each chat, as long as that keeps no reply back."""
        try:
            while self._unmarked:
                chat = next(iter(self._unmarked))
                entry = self._unmarked.pop(chat)
                busy = self._outbox.chats > BUSY_CHATS or self._admission.has_line
                if not busy and entry in self._waiting.get(chat, ()):
                    await self._platforms[chat.platform].waiting(entry.message)
        finally:
            self._marking -= 1

    async def _lane(self, chat: ChatKey) -> None:
        """The turns of one chat, one after the other, until none waits."""
        try:
            while self._waiting[chat] and not self._closing:
                entries = await self._gather(chat)
                self._count()
                before = [self._behind.pop(entry.id, None) for entry in entries]
                await _ended(before[0])  # a /tier just before the question holds for it
                stop = Stop()
                try:
                    with self._running.enter(chat, stop, entries[0].message.user):
                        async with self._admission.turn(stop):
                            if self._closing:
                                return  # the next start begins it
                            # Counted before it begins: a message that kills the process does so a few times only.
                            await patiently(self._store.begin, [entry.id for entry in entries])
                            await self._handle([await self._order.begin(entries[0]), *entries[1:]], stop)
                finally:
                    self._order.answered(entries)
        finally:
            if self._waiting[chat] and not self._closing:  # behind one that failed in a way nobody foresaw
                self._spawn(self._lane(chat))
            else:
                del self._waiting[chat], self._arrived[chat]
            self._count()

    async def _gather(self, chat: ChatKey) -> list[InboxEntry]:
        """The next message, with the rest of its album or of the text that the platform cut."""
        queue, arrived = self._waiting[chat], self._arrived[chat]
        together = [queue.popleft()]
        while _goes_on(together[-1].message):
            arrived.clear()
            if not queue:
                with suppress(TimeoutError):
                    await asyncio.wait_for(arrived.wait(), GATHER_SECONDS)
            if not queue or not _belong_together(together[-1].message, queue[0].message):
                break
            together.append(queue.popleft())
        return together

    async def _handle(self, entries: Sequence[InboxEntry], stop: Stop) -> None:
        first = entries[0]
        chat = first.message.chat
        STUCK.set(lambda: self._tell_stuck(first.message))
        live: LiveReply = self._platforms[chat.platform].live(
            first.message,
            first.placeholder,
            await patiently(self._chats.streaming, chat),
            lambda message_id: self._store.placeholder(first.id, message_id),
        )
        if self._outbox.is_sending(chat):
            live = _AfterReplies(live, lambda: self._outbox.is_sending(chat))
        try:
            replies = await self._dispatcher.handle(entries, live, stop)
        finally:
            await live.close()
        self._outbox.take(replies)
        if replies:
            self._answered[chat] = self._answered.pop(chat, None)
            if len(self._answered) > TOLD_CHATS:
                del self._answered[next(iter(self._answered))]
        else:
            self._silences.note(first.message)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("A task of the inbox failed", exc_info=task.exception())

    def _count(self) -> None:
        self._running.queued = sum(len(queue) for queue in self._waiting.values())


async def _ended(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        await asyncio.wait({task})


def _goes_on(message: InboundMessage) -> bool:
    """Whether more that belongs to it may be on the way."""
    return bool(message.album) or (len(message.text) >= CUT_LENGTH and not message.attachments)


def _belong_together(one: InboundMessage, other: InboundMessage) -> bool:
    if one.user != other.user:
        return False
    if one.album or other.album:
        return one.album == other.album
    if one.forwarded_from != other.forwarded_from:
        return False
    return other.sent_at - one.sent_at <= 1 and not other.own_text.lstrip().startswith("/")
