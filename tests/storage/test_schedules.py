"""Reminders and tasks in the database."""

from __future__ import annotations

from dataclasses import replace

from routing.types.messages import ChatKey, OutboundMessage
from routing.types.schedules import Firing, Schedule
from storage.stores import Stores
from tests.fakes import ManualClock
from tests.storage.samples import message

CHAT = ChatKey("telegram", "7")
HERE = ("telegram",)


def reminder(person_id: int, at: float, text: str = "tea", rule: str = "") -> Schedule:
    return Schedule(person_id, CHAT, True, "reminder", text, rule, "UTC", at, 0.0)


async def test_schedules_are_added_once_up_to_a_limit(stores: Stores, ann: int) -> None:
    first = await stores.schedules.add(reminder(ann, 100.0), 2)
    assert first is not None
    assert await stores.schedules.add(reminder(ann, 160.0), 2) == first, "an interrupted turn adds it again"
    second = await stores.schedules.add(reminder(ann, 500.0), 2)
    assert second is not None
    assert await stores.schedules.add(reminder(ann, 900.0), 2) is None
    assert await stores.schedules.of(ann) == (first, second)


async def test_other_people_find_nothing(stores: Stores, ann: int) -> None:
    mine = await stores.schedules.add(reminder(ann, 100.0), 9)
    assert mine is not None
    other = ann + 1
    assert await stores.schedules.get(other, mine.id) is None
    assert not await stores.schedules.remove(other, mine.id)
    assert not await stores.schedules.set_state(other, mine.id, "paused", 0.0)
    await stores.schedules.move(other, "Europe/Berlin", {mine.id: 1.0})
    assert await stores.schedules.get(ann, mine.id) == mine
    assert await stores.schedules.remove(ann, mine.id)


async def test_a_due_schedule_fires_once(stores: Stores, ann: int, clock: ManualClock) -> None:
    once = await stores.schedules.add(reminder(ann, 100.0), 9)
    again = await stores.schedules.add(reminder(ann, 90.0, "stretch", "@every 60"), 9)
    paused = await stores.schedules.add(reminder(ann, 80.0, "later"), 9)
    assert once is not None
    assert again is not None
    assert paused is not None
    await stores.schedules.set_state(ann, paused.id, "paused", 80.0)
    assert await stores.schedules.next_at(HERE) == 90.0
    assert await stores.schedules.next_at(("discord",)) is None
    assert await stores.schedules.due(HERE, 99.0, 9) == (again,)
    assert await stores.schedules.due(HERE, 100.0, 9) == (again, once)
    assert await stores.schedules.due(HERE, 100.0, 1) == (again,)
    firings = [Firing(once, None, OutboundMessage(CHAT, "tea")), Firing(again, 150.0, None, message("s"))]
    replies, messages = await stores.schedules.fire(firings)
    assert ([each.message.text for each in replies], len(messages)) == (["tea"], 1)
    assert await stores.schedules.fire(firings) == ((), ()), "they have changed since they were read"
    assert await stores.schedules.next_at(HERE) == 150.0
    assert len(await stores.outbox.unsent()) == len(await stores.inbox.unfinished()) == 1


async def test_failures_in_a_row_pause_it(stores: Stores, ann: int) -> None:
    task = await stores.schedules.add(reminder(ann, 100.0, "news", "@every 60"), 9)
    assert task is not None
    for failed in (True, False, True, True):
        assert await stores.schedules.ended(task.id, failed, 3) is None
    paused = await stores.schedules.ended(task.id, True, 3)
    assert paused == replace(task, state="paused", failures=3)
    assert await stores.schedules.ended(task.id, True, 3) is None
    assert await stores.schedules.ended(task.id + 1, True, 3) is None


async def test_merging_and_a_group_that_moved(stores: Stores, ann: int) -> None:
    group = replace(reminder(ann, 100.0), chat=ChatKey("telegram", "-5"))
    added = await stores.schedules.add(group, 9)
    assert added is not None
    await stores.chats.moved(ChatKey("telegram", "-5"), "-100")
    moved = await stores.schedules.get(ann, added.id)
    assert moved is not None
    assert moved.chat == ChatKey("telegram", "-100")
