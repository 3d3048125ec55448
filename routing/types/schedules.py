"""Reminders and scheduled prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.types.messages import ChatKey, InboundMessage, OutboundMessage

ScheduleKind = Literal["reminder", "prompt"]
"""A reminder sends its text; a prompt sends the answer of a model."""
ScheduleState = Literal["active", "paused"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a person wants to get later in `chat`. `next_at` is the next time in Unix seconds. `rule` says when it
    repeats in `time_zone` (see `handlers.schedules.rules`); empty: once. `failures` counts failed turns in a row. `id`
    is 0 until it is stored."""

    person_id: int
    chat: ChatKey
    private: bool
    kind: ScheduleKind
    text: str
    rule: str
    time_zone: str
    next_at: float
    created_at: float
    state: ScheduleState = "active"
    failures: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Firing:
    """What happens to a due schedule, as it was read: it is set to `next_at` (None: deleted), and the reply or the
    message is queued, if there is one."""

    schedule: Schedule
    next_at: float | None
    reply: OutboundMessage | None = None
    message: InboundMessage | None = None
