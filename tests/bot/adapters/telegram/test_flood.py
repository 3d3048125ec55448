"""Flood limits: parsing, windows, and priorities."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.telegram import flood
from bot.adapters.telegram.flood import Limits, Rate, RateLimiter, parse
from bot.platform import SendLater
from routing.errors import ConfigError
from tests.fakes import ManualClock


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("30/s,1/s per chat,20/min per group", Limits(Rate(30, 1), Rate(1, 1), Rate(20, 60))),
        (" 20 / min per group ", Limits(group=Rate(20, 60))),
        ("off", Limits()),
        ("OFF", Limits()),
    ],
)
def test_flood_limits_are_parsed(text: str, limits: Limits) -> None:
    assert parse(text) == limits


@pytest.mark.parametrize("text", ["", "fast", "0/s", "30/s,30/s", "1/s per person", "1/h per chat", "-1/s", "30/s,"])
def test_invalid_flood_limits_name_the_variable(text: str) -> None:
    with pytest.raises(ConfigError, match="TELEGRAM_FLOOD_LIMIT"):
        parse(text)


REAL = parse("30/s,1/s per chat,20/min per group")


async def test_previews_leave_room_for_the_final_message() -> None:
    clock = ManualClock()
    flood = RateLimiter(REAL, clock)
    assert [flood.spare("5") for _ in range(4)] == [True, True, False, False]
    await flood.turn("5")
    assert not flood.spare("5")
    assert flood.spare("5", counts=False)
    clock.now += 3.2
    assert flood.spare("5")


async def test_a_group_never_takes_more_than_twenty_in_a_minute() -> None:
    clock = ManualClock()
    flood = RateLimiter(REAL, clock)
    sent = []
    for _ in range(3600):
        if flood.spare("-100"):
            sent.append(clock.now)
        clock.now += 0.1
    assert max(sum(1 for other in sent if at <= other < at + 60) for at in sent) == 17
    clock.now = sent[-1]
    await flood.turn("-100")


async def test_a_long_wait_returns_the_reply_to_the_outbox() -> None:
    clock = ManualClock()
    flood = RateLimiter(parse("2/min per group"), clock)
    await flood.turn("-1")
    await flood.turn("-1")
    with pytest.raises(SendLater) as caught:
        await flood.turn("-1")
    assert caught.value.seconds is not None
    assert 60 < caught.value.seconds < 63
    assert not caught.value.maybe_sent
    await flood.turn("1")


async def test_waiting_replies_keep_their_order_and_precede_previews() -> None:
    flood = RateLimiter(Limits(chat=Rate(1, 0.05)))
    order: list[int] = []
    begun = asyncio.Event()

    async def reply(number: int) -> None:
        await flood.turn("5")
        order.append(number)
        begun.set()

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(reply(number))
        await begun.wait()
        assert not flood.spare("5", counts=False)
    assert order == list(range(6))


async def test_rate_limited_chats_delay_no_other_while_messages_succeed() -> None:
    clock = ManualClock()
    flood = RateLimiter(Limits(), clock)
    for number in range(10):
        flood.refuse(f"{number}", 59)
        flood.passed()
        assert not flood.spare(f"{number}", counts=False)
    await flood.turn("other")


async def test_consecutive_rate_limits_pause_all_chats() -> None:
    """Then one reply per second probes, and previews wait."""
    clock = ManualClock()
    flood = RateLimiter(Limits(), clock)
    flood.refuse("0", 5)
    clock.now += 6
    for number, seconds in enumerate((30, 20, 40), start=1):
        flood.refuse(f"{number}", seconds)
        assert flood.spare("other", counts=False)
    flood.refuse("4", 50)
    assert not flood.spare("other", counts=False)
    clock.now += 1
    await flood.turn("other")
    assert not flood._take(flood._chat("another")), "the next one in a second"
    flood.refuse("other", 50)
    clock.now += 1
    await flood.turn("another")
    flood.passed()
    assert flood.spare("third")
    assert not flood.spare("4")


async def test_idle_chats_are_forgotten() -> None:
    clock = ManualClock()
    flood = RateLimiter(REAL, clock)
    for number in range(5000):
        clock.now += 0.1
        await flood.turn(str(number))
    assert len(flood._chats) <= 600


async def test_thousands_of_waiting_chats_are_not_searched_for_each_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    wait = flood._Window.wait

    def counted(window: flood._Window, now: float, kept: int = 0) -> float:
        nonlocal looks
        looks += 1
        return wait(window, now, kept)

    monkeypatch.setattr(flood._Window, "wait", counted)
    chats, limiter = 4_000, RateLimiter(parse("30/s,1/s per chat,20/min per group"), ManualClock())
    waiting = [asyncio.create_task(limiter.turn(str(chat))) for chat in range(chats)]
    await asyncio.sleep(0)  # each has begun
    assert chats < looks < 10 * chats
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
