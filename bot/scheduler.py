"""Starts reminders and scheduled prompts when they are due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from bot.adapters.shared.background import Background
from handlers.commands.remind import reminder_buttons
from handlers.languages import Say
from handlers.schedules.schedules import following
from handlers.schedules.views import late_note, moment, short
from handlers.storage_retry import retry_storage
from routing.error_boundary import ErrorBoundary
from routing.ports import Clock, LinkStore, PeopleStore, ScheduleStore
from routing.types.history import TurnRecord
from routing.types.messages import ChatKey, InboundMessage, Occurrence, OutboundMessage, UserKey
from routing.types.people import Person
from routing.types.queues import InboxEntry, OutboxEntry
from routing.types.schedules import Firing, Schedule
from routing.types.time_zones import time_zone

BATCH = 200
"""Schedules per transaction, which takes about 30 ms."""
LONGEST_SLEEP_SECONDS = 60.0
"""Another process may have changed a schedule."""
CLOCK_SECONDS = 1.0
"""Between two looks at the clock, which may be set, and which goes on while the machine is suspended. A look takes
about 0.1 ms of CPU."""
FAULT_SECONDS = 5.0
MAX_FAILURES = 3
"""A task is paused after this many turns in a row without an answer."""
SCHEDULE_BOT_ID = "schedule"
"""In place of the bot's id in the messages of scheduled prompts; with their update ids, which name the occurrence, none
is stored twice."""

log = logging.getLogger("bot.scheduler")


class Outbox(Protocol):
    """What this needs of `bot.outbox.OutboxSender`."""

    @property
    def platforms(self) -> Collection[str]: ...
    def take(self, entries: Sequence[OutboxEntry]) -> None: ...
    async def post(self, messages: Sequence[OutboundMessage]) -> None: ...


class Inbox(Protocol):
    """What this needs of `bot.inbox.inbox.Inbox`."""

    async def take(self, entries: Sequence[InboxEntry]) -> None: ...


class Scheduler:
    """Sleeps until the next schedule is due, or until `changed` is set. A schedule advances in the transaction that
    queues its reminder or prompt, so each occurrence happens exactly once. Those missed while the process did not run
    happen once, late. It reads the table at least once a minute, and the clock each second."""

    def __init__(
        self,
        store: ScheduleStore,
        people: PeopleStore,
        links: LinkStore,
        outbox: Outbox,
        inbox: Inbox,
        changed: asyncio.Event,
        clock: Clock,
    ) -> None:
        self._store = store
        self._people = people
        self._links = links
        self._outbox = outbox
        self._inbox = inbox
        self._changed = changed
        self._clock = clock
        self._background = Background("[Scheduler]")

    def start(self) -> None:
        """From now on, handle what is due."""
        self._background.spawn(self._run())

    async def close(self) -> None:
        """Start nothing more; the next process continues."""
        await self._background.close(0)

    async def after_turn(self, message: InboundMessage, record: TurnRecord) -> None:
        """Count a failed turn of a scheduled prompt. If there are too many, pause it and tell its person."""
        if message.scheduled is None:
            return
        failed = record.facts is None or not record.facts.model
        paused = await retry_storage(self._store.ended, message.scheduled.schedule_id, failed, MAX_FAILURES)
        if paused is None:
            return
        person = await retry_storage(self._people.find, message.user)
        words = (
            "⏸ Task #{number} got no answer {times} times in a row, so I paused it: {text}\n\n/schedule resume {number}"
        )
        say = Say(person.language if person else "")
        text = say(words, number=str(paused.id), times=MAX_FAILURES, text=short(paused.text))
        await self._outbox.post([OutboundMessage(message.chat, text, owner=paused.person_id)])

    async def _run(self) -> None:
        boundary = ErrorBoundary(log, "Schedules could not be started")
        while True:
            with boundary:
                await self._step()
            if boundary.error is not None:
                await asyncio.sleep(FAULT_SECONDS)

    async def _step(self) -> None:
        self._changed.clear()
        next_at = await self._store.next_at(tuple(self._outbox.platforms))
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_SLEEP_SECONDS):
                await self._wait_for(next_at)
        await self.start_due()

    async def _wait_for(self, next_at: float | None) -> None:
        """Return at this time, or once something has changed."""
        while not self._changed.is_set() and (next_at is None or self._clock() < next_at):
            left = LONGEST_SLEEP_SECONDS if next_at is None else min(CLOCK_SECONDS, next_at - self._clock())
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

    async def start_due(self) -> None:
        """Start everything that is due, in batches."""
        platforms = tuple(self._outbox.platforms)
        while batch := await self._store.due(platforms, self._clock(), BATCH):
            await self._start(batch)

    async def _start(self, batch: Sequence[Schedule]) -> None:
        """Start a batch, as soon as the storage works. If that fails, each alone; one that fails alone is paused, so
        that it blocks no other."""
        boundary = ErrorBoundary(log, "A schedule could not be started")
        with boundary:
            replies, messages = await retry_storage(self._fire, batch)
        if boundary.error is None:
            self._outbox.take(replies)
            with ErrorBoundary(log, "Tasks that were due wait for the next start"):
                await self._inbox.take(messages)
        elif len(batch) == 1:
            await self._pause(batch[0])
        else:
            for each in batch:
                await self._start([each])

    async def _pause(self, failed: Schedule) -> None:
        """Pause what could not be started, and tell its person."""
        await self._store.set_state(failed.person_id, failed.id, "paused", failed.next_at)
        accounts = await self._accounts(failed.person_id)
        if not accounts:
            return
        user, person = accounts.get(failed.chat.platform) or next(iter(accounts.values()))
        say, zone = Say(person.language), await time_zone(failed.time_zone)
        words = "⏸ Because of a fault of mine, I could not do what was due on {time}, so I paused it: #{number} {text}"
        time = moment(say, failed.next_at, zone, self._clock())
        text = f"{say(words, time=time, number=str(failed.id), text=short(failed.text))}\n\n/schedule"
        await self._outbox.post([OutboundMessage(ChatKey.of(user), text, owner=person.id)])

    async def _fire(self, batch: Sequence[Schedule]) -> tuple[tuple[OutboxEntry, ...], tuple[InboxEntry, ...]]:
        return await self._store.fire(await self._firings(batch))

    async def _firings(self, batch: Sequence[Schedule]) -> list[Firing]:
        now = self._clock()
        times = await following(batch, now)
        people = {each.person_id: await self._accounts(each.person_id) for each in batch}
        return [
            await self._firing(each, at, people[each.person_id], now) for each, at in zip(batch, times, strict=True)
        ]

    async def _accounts(self, person_id: int) -> dict[str, tuple[UserKey, Person]]:
        """The accounts of a person who may use the bot, by platform."""
        found = {}
        for account in await self._links.accounts(person_id):
            person = await self._people.find(account.user)
            if person is not None and person.role != "blocked":
                found[account.user.platform] = account.user, person
        return found

    async def _firing(
        self, schedule: Schedule, next_at: float | None, accounts: dict[str, tuple[UserKey, Person]], now: float
    ) -> Firing:
        """Without a reply or a message if the person is blocked or has no account any more."""
        if not accounts:
            return Firing(schedule, next_at)
        here = schedule.chat.platform in accounts
        user, person = accounts[schedule.chat.platform] if here else next(iter(accounts.values()))
        chat, private = (schedule.chat, schedule.private) if here else (ChatKey.of(user), True)
        if schedule.kind == "reminder":
            return Firing(schedule, next_at, reply=await self._reminder(schedule, chat, user, person, now))
        message = InboundMessage(
            user=user,
            chat=chat,
            bot_id=SCHEDULE_BOT_ID,
            update_id=f"{schedule.id}:{schedule.next_at:.0f}",
            text=schedule.text,
            sent_at=now,
            private=private,
            scheduled=Occurrence(schedule.id, schedule.next_at),
        )
        return Firing(schedule, next_at, message=message)

    async def _reminder(
        self, schedule: Schedule, chat: ChatKey, user: UserKey, person: Person, now: float
    ) -> OutboundMessage:
        say, zone = Say(person.language), await time_zone(schedule.time_zone)
        text = f"⏰ {schedule.text}" if schedule.private else f"⏰ {person.name}: {schedule.text}"
        labels = say("✅ Done"), say("In 10 minutes"), say("Tomorrow")
        return OutboundMessage(
            chat,
            "\n\n".join((text, *late_note(say, schedule.next_at, now, zone))),
            owner=person.id,
            buttons=reminder_buttons(schedule.text, labels, datetime.fromtimestamp(schedule.next_at, zone)),
            otherwise=None if schedule.private else ChatKey.of(user),
        )
