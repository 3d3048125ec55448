"""Warns the owner when many turns don't go as planned. Changes nothing itself."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

from handlers.notices.notices import Notices
from routing.ports import StateStore, TurnStore
from routing.types.history import TurnFacts, TurnRecord
from routing.types.messages import InboundMessage
from routing.types.usage import RecentProblems

NEWEST_TURNS = 50
"""Number of newest turns to examine. There is no alarm before that many turns."""
STATE_KEY = "alarms"

log = logging.getLogger("handlers.notices.alarms")


@dataclass(frozen=True, slots=True)
class Alarm:
    """Fires above `most` percent of the newest turns and resets at half of that."""

    name: str
    most: int
    count: Callable[[RecentProblems], int]
    words: str


ALARMS = (
    Alarm(
        "escalations",
        30,
        lambda counts: counts.escalations,
        "🔔 {share}% of the last {turns} answers moved up a tier, through /tier auto or the "
        "button (your alarm is set to {most}%). See /usage tiers. Nothing was changed.",
    ),
    Alarm(
        "timeouts",
        15,
        lambda counts: counts.timeouts,
        "🔔 {share}% of the last {turns} answers missed their deadline (your alarm is set to "
        "{most}%). The models are slow, or the deadline is too short. See /usage tiers. "
        "Nothing was changed.",
    ),
    Alarm(
        "fallbacks",
        30,
        lambda counts: counts.fallbacks,
        "🔔 {share}% of the last {turns} answers came from a fallback model (your alarm is "
        "set to {most}%). The first model of the tier fails often, or its key or quota is "
        "used up. See /usage tiers and /status full. Nothing was changed.",
    ),
)


class Alarms:
    """Checks the newest turns after each turn that can have changed the result. Fired alarms survive a restart."""

    def __init__(self, turns: TurnStore, state: StateStore, notices: Notices) -> None:
        self._turns = turns
        self._state = state
        self._notices = notices
        self._rung: frozenset[str] | None = None
        self._missing = 1
        """How many more turns are needed before the newest NEWEST_TURNS may be known."""
        self._turn = asyncio.Lock()

    async def after_turn(self, _message: InboundMessage, record: TurnRecord) -> None:
        """A `handlers.post_turn.Hook`."""
        if record.facts is not None:
            await self.check(record.facts)

    async def check(self, facts: TurnFacts) -> None:
        """Checks the alarms after a turn. Ignores councils. Raises StorageFault; the next check catches up."""
        if facts.source == "council":
            return
        async with self._turn:  # two turns that end at once must not fire twice
            if self._missing > 1:
                self._missing -= 1
                return
            rung = await self._known()
            if not (self._missing or rung or facts.fallback or facts.timed_out or facts.escalated):
                return  # nothing to count and nothing to reset
            counts = await self._turns.newest(NEWEST_TURNS)
            self._missing = NEWEST_TURNS - counts.turns
            if self._missing:
                return
            for alarm in ALARMS:
                count = alarm.count(counts)
                if 200 * count <= alarm.most * counts.turns:  # hysteresis, or it would fire again and again
                    rung -= {alarm.name}
                elif 100 * count > alarm.most * counts.turns and alarm.name not in rung:
                    await self._send_alarm(alarm, count, counts.turns)
                    rung |= {alarm.name}
            if rung != self._rung:
                await self._state.put(STATE_KEY, json.dumps(sorted(rung)))
                self._rung = rung

    async def _known(self) -> frozenset[str]:
        """The fired alarms that have not reset."""
        if self._rung is None:
            self._rung = frozenset(json.loads(await self._state.get(STATE_KEY) or "[]"))
        return self._rung

    async def _send_alarm(self, alarm: Alarm, count: int, turns: int) -> None:
        share = round(100 * count / turns)
        log.warning("[Alarm] %s: %d%% of the last %d turns", alarm.name, share, turns)
        await self._notices.tell_owners(alarm.words, (), share=share, turns=turns, most=alarm.most)
