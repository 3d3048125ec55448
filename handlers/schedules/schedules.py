"""Creates, changes and lists a person's reminders and scheduled prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from routing.errors import Refused
from routing.ports import Clock, PreferenceStore, ScheduleStore
from routing.types.messages import ChatKey
from routing.types.people import Person
from routing.types.schedules import Schedule, ScheduleKind
from routing.types.time_zones import time_zone

MAX_TEXT_CHARACTERS = 2_000
OWNER_SHORTEST_SECONDS = 60.0
"""Owners may repeat something this often."""


@dataclass(frozen=True, slots=True)
class ScheduleLimits:
    """Schedules per person, and the shortest time between two occurrences of one, in seconds."""

    most: int = 100
    shortest_seconds: float = 300.0


class Schedules:
    """`changed` is set whenever the next time may have become earlier. The modules that understand time are imported on
    first use, and run in a thread."""

    def __init__(
        self, store: ScheduleStore, preferences: PreferenceStore, clock: Clock, limits: ScheduleLimits | None = None
    ) -> None:
        self._store = store
        self._preferences = preferences
        self._clock = clock
        self.limits = limits or ScheduleLimits()
        self.changed = asyncio.Event()

    async def split(self, person: Person, text: str) -> tuple[str, str] | None:
        """The time in a text and the rest; None if there is no time or no rest."""
        now, zone = self._clock(), await self._zone(person)

        def work() -> tuple[str, str] | None:
            from handlers.schedules.time_expressions import split

            return split(text, now, zone, person.language)

        return await asyncio.to_thread(work)

    async def plan(
        self, person: Person, chat: ChatKey, private: bool, kind: ScheduleKind, text: str, when: str
    ) -> Schedule:
        """What `add` would store. Raises Refused."""
        if chat.visitor:  # what only one person sees can't be continued later
            chat, private = ChatKey(chat.platform, f"@{chat.visitor}"), True
        text = text.strip()
        if not text:
            raise Refused("There is no text. Say what it is about, as well as when.")
        if len(text) > MAX_TEXT_CHARACTERS:
            raise Refused("The text is too long: at most {most} characters.", most=MAX_TEXT_CHARACTERS)
        now, zone = self._clock(), await self._zone(person)
        shortest = OWNER_SHORTEST_SECONDS if person.role == "owner" else self.limits.shortest_seconds

        def work() -> tuple[float, str, float]:
            from handlers.schedules.rules import shortest_gap
            from handlers.schedules.time_expressions import understand

            found = understand(when, now, zone, person.language)
            return found.at, found.rule, shortest_gap(found.rule, now, zone) if found.rule else shortest

        at, rule, gap = await asyncio.to_thread(work)
        if gap < shortest:
            words = "That is too often: at most every {minutes} minutes. Choose a longer interval."
            raise Refused(words, minutes=round(shortest / 60))
        return Schedule(person.id, chat, private, kind, text, rule, zone.key, at, now)

    async def exactly(self, planned: Schedule) -> str:
        """The time of a plan, so that `plan` understands it in the same way at any later moment."""
        zone = await time_zone(planned.time_zone)

        def work() -> str:
            from handlers.schedules.parsed_expression import When
            from handlers.schedules.time_expressions import exactly

            return exactly(When(planned.next_at, planned.rule), zone)

        return await asyncio.to_thread(work)

    async def add(self, planned: Schedule) -> Schedule:
        """Store a schedule. Raises Refused if the person has too many."""
        added = await self._store.add(planned, self.limits.most)
        if added is None:
            words = "You have {most} reminders and tasks already. Cancel one first: /schedule lists them."
            raise Refused(words, most=self.limits.most)
        self.changed.set()
        return added

    async def of(self, person_id: int) -> Sequence[Schedule]:
        """The person's schedules, the next one first."""
        return await self._store.of(person_id)

    async def get(self, person_id: int, number: str) -> Schedule:
        """The person's schedule of this number. Raises Refused."""
        digits = number.strip().removeprefix("#")
        known = digits.isascii() and digits.isdigit() and len(digits) <= 15
        found = await self._store.get(person_id, int(digits)) if known else None
        if found is None:
            raise Refused("You have no reminder or task {number}. /schedule lists yours.", number=f"“{number[:20]}”")
        return found

    async def cancel(self, person_id: int, number: str) -> Schedule:
        """Delete a schedule. Raises Refused."""
        found = await self.get(person_id, number)
        await self._store.remove(person_id, found.id)
        return found

    async def pause(self, person_id: int, number: str) -> Schedule:
        """Raises Refused."""
        found = await self.get(person_id, number)
        await self._store.set_state(person_id, found.id, "paused", found.next_at)
        return found

    async def resume(self, person_id: int, number: str) -> Schedule:
        """Continue with the next time of a paused schedule. Raises Refused if there is none."""
        found = await self.get(person_id, number)
        following = found.next_at if found.next_at > self._clock() else await self._following(found, found.time_zone)
        if following is None:
            raise Refused("The time of {number} has passed. Cancel it and add a new one.", number=f"#{found.id}")
        await self._store.set_state(person_id, found.id, "active", following)
        self.changed.set()
        return await self.get(person_id, number)

    async def move(self, person_id: int, zone: str) -> int:
        """Move what repeats at a time of day to another time zone; returns how many."""
        mine = await self._store.of(person_id)
        repeated = [
            each for each in mine if each.rule and not each.rule.startswith("@every") and each.time_zone != zone
        ]
        times = {each.id: await self._following(each, zone) for each in repeated}
        await self._store.move(person_id, zone, {key: at for key, at in times.items() if at is not None})
        self.changed.set()
        return len(repeated)

    async def _following(self, schedule: Schedule, zone: str) -> float | None:
        return (await following([schedule], self._clock(), zone))[0]

    async def _zone(self, person: Person) -> ZoneInfo:
        return await time_zone((await self._preferences.settings(person.id)).time_zone)


async def following(schedules: Sequence[Schedule], now: float, zone: str = "") -> list[float | None]:
    """The next time of each after `now`, in `zone` or else its own; None if there is none. One that was due later than
    `now` continues after that time, so a clock that is set back repeats nothing."""
    if not any(each.rule for each in schedules):
        return [None] * len(schedules)
    zones = {name: await time_zone(name) for name in {zone or each.time_zone for each in schedules}}

    def work() -> list[float | None]:
        from handlers.schedules.rules import next_time

        def after(each: Schedule) -> float | None:
            here = zones[zone or each.time_zone]
            latest = now if zone else max(now, each.next_at)
            return next_time(each.rule, each.next_at, latest, here) if each.rule else None

        return [after(each) for each in schedules]

    return await asyncio.to_thread(work)
