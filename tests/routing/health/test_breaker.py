"""The breaker: when it opens, who may probe it, when it closes."""

from __future__ import annotations

import asyncio

import pytest

from routing.errors import (
    BadModelRequest,
    ContextOverflow,
    EmptyAnswer,
    KeyRejected,
    ModelError,
    ModelUnknown,
    PolicyRefused,
    RateLimited,
    Unreachable,
)
from routing.health.breaker import MAX_SECONDS, REMEMBERED, Breaker, BreakerStatus, SavedBreaker
from tests.routing.health.breakers import DOWN, REFUSED, Time, opened, tried

BAD, OK = DOWN, None
Results = list[ModelError | None]


def made(time: Time | None = None) -> Breaker:
    return Breaker(time or Time(), lambda: None)


@pytest.mark.parametrize(
    ("results", "state"),
    [
        ([], "closed"),
        ([BAD, BAD], "closed"),
        ([BAD, BAD, BAD], "open"),
        ([OK, OK, BAD, BAD, BAD], "open"),
        ([BAD, BAD, OK, BAD], "closed"),
        ([BAD, OK, BAD, OK], "closed"),
        ([BAD, OK, BAD, OK, BAD], "open"),
        ([BAD, BAD, OK, OK, BAD], "open"),
        ([BAD, OK, BAD, OK, OK], "closed"),
        ([BAD, OK, BAD, OK, OK, BAD], "closed"),
        ([BAD, OK, BAD, OK, OK, BAD, BAD], "open"),
    ],
)
def test_it_opens_at_more_than_half_of_five_or_three_in_a_row(results: Results, state: str) -> None:
    breaker = made()
    tried(breaker, *results)
    assert breaker.status().state == state


@pytest.mark.parametrize("kind", [Unreachable, RateLimited, EmptyAnswer])
def test_every_failure_of_the_provider_counts(kind: type[ModelError]) -> None:
    breaker = made()
    tried(breaker, *[kind("a/1", "x")] * 3)
    assert breaker.status() == BreakerStatus("open", 1_000_060.0, "x")


@pytest.mark.parametrize("kind", [ContextOverflow, PolicyRefused, BadModelRequest])
def test_the_users_errors_never_count(kind: type[ModelError]) -> None:
    breaker, theirs = made(), kind("a/1", "x")
    tried(breaker, *[theirs] * 50, BAD, theirs, BAD, theirs)
    assert breaker.status().state == "closed"
    tried(breaker, BAD)
    assert breaker.status().state == "open", "nor does it come between failures"


@pytest.mark.parametrize("kind", [KeyRejected, ModelUnknown])
def test_permanent_errors_open_it_at_once(kind: type[ModelError]) -> None:
    breaker = made()
    tried(breaker, *[OK] * 20, kind("a/1", "no"))
    assert breaker.status() == BreakerStatus("open", 1_000_060.0, "no")


def test_only_the_last_ten_minutes_count() -> None:
    time = Time()
    breaker = made(time)
    tried(breaker, BAD, BAD)
    time.now += 600.0
    tried(breaker, BAD, OK, OK)
    assert breaker.status().state == "closed"
    time.now += 599.0
    tried(breaker, BAD, BAD)
    assert breaker.status().state == "open", "three of five, the oldest of them not yet forgotten"


def test_only_the_newest_outcomes_are_kept() -> None:
    breaker = made()
    tried(breaker, *[OK, BAD] * 10 * REMEMBERED)
    assert breaker.status().state == "closed", "half of them, and no more"
    tried(breaker, *[OK] * REMEMBERED)
    pattern, count = [BAD, BAD, OK], 0
    while breaker.status().state == "closed":
        tried(breaker, pattern[count % 3])
        count += 1
    assert count == REMEMBERED * 3 // 4 + 1, "101 of the newest 200 have failed"
    assert len(breaker.keep().tries) == 0


def test_it_stays_open_for_one_minute_doubling_up_to_15() -> None:
    time = Time()
    breaker = opened(time)
    for seconds in (60.0, 120.0, 240.0, 480.0, 900.0, 900.0):
        assert breaker.status().until == time.now + seconds
        time.now += seconds - 0.1
        assert breaker.begin() is None
        time.now += 0.1
        tried(breaker, BAD)
    time.now += MAX_SECONDS
    tried(breaker, OK, BAD, BAD)
    assert breaker.status().state == "closed", "it has forgotten what was before"
    tried(breaker, BAD)
    assert breaker.status().until == time.now + 60.0


def test_one_probe_at_a_time() -> None:
    time = Time()
    breaker = opened(time)
    time.now += 60.0
    probe = breaker.begin()
    assert probe is not None
    assert breaker.status().state == "probing"
    assert breaker.begin() is None
    assert breaker.begin(early=True) is None
    probe.end()
    probe.end(BAD)
    assert breaker.status().state == "closed", "only the first word counts"


@pytest.mark.parametrize("how", ["left", "cancelled", "overflow"])
def test_an_inconclusive_probe_frees_its_slot(how: str) -> None:
    time = Time()
    breaker = opened(time)
    time.now += 60.0
    probe = breaker.begin()
    assert probe is not None
    leaving = {"left": None, "cancelled": asyncio.CancelledError(), "overflow": ContextOverflow("a/1", "too long")}[how]
    try:
        with probe:
            if leaving is not None:
                raise leaving
    except (asyncio.CancelledError, ContextOverflow):
        pass
    assert breaker.status() == BreakerStatus("open", time.now, "a refused the key")
    assert breaker.begin() is not None


def test_an_exception_in_the_block_is_a_failure() -> None:
    breaker = made()
    for _ in range(3):
        trial = breaker.begin()
        assert trial is not None
        with pytest.raises(Unreachable), trial:
            raise DOWN
    assert breaker.status().state == "open"


def test_calls_begun_before_it_opened_do_not_count() -> None:
    time = Time()
    breaker = made(time)
    late = [trial for _ in range(9) if (trial := breaker.begin()) is not None]
    tried(breaker, REFUSED)
    time.now += 30.0
    late[0].end(OK)
    late[1].end(REFUSED)
    assert breaker.status() == BreakerStatus("open", time.now + 30.0, "a refused the key")
    time.now += 30.0
    tried(breaker, OK)
    for trial in late[2:]:
        trial.end(BAD)
    assert breaker.status().state == "closed"
    assert breaker.keep().tries == ()


def test_an_early_probe_that_fails_changes_nothing_and_one_that_answers_closes() -> None:
    time = Time()
    breaker = opened(time)
    before = breaker.status()
    assert breaker.begin() is None
    early = breaker.begin(early=True)
    assert early is not None
    assert breaker.status().state == "probing"
    early.end(BAD)
    assert breaker.status() == before
    again = breaker.begin(early=True)
    assert again is not None
    again.end(OK)
    assert breaker.status().state == "closed"


def test_a_probes_first_token_closes_it_and_later_errors_count_normally() -> None:
    time = Time()
    breaker = opened(time)
    time.now += 60.0
    probe = breaker.begin()
    assert probe is not None
    probe.first_token()
    assert breaker.status().state == "closed"
    assert breaker.begin() is not None
    tried(breaker, BAD, BAD)
    probe.end(BAD)
    assert breaker.status() == BreakerStatus("open", time.now + 60.0, "it is down")


def test_it_reports_only_opening_and_closing() -> None:
    told: list[str] = []
    time = Time()
    breaker = Breaker(time, lambda: told.append(breaker.status().state))
    tried(breaker, OK, BAD, BAD, OK)
    assert told == []
    tried(breaker, REFUSED)
    time.now += 60.0
    tried(breaker, BAD)
    time.now += 120.0
    tried(breaker, OK, OK)
    assert told == ["open", "open", "closed"]


def test_state_is_restored() -> None:
    time = Time()
    before, after = opened(time), made(time)
    time.now += 60.0
    tried(before, BAD)
    assert before.begin(early=True) is not None
    after.restore(before.keep())
    assert after.status() == BreakerStatus("open", time.now + 120.0, "it is down"), "there is no probe now"
    time.now += 120.0
    tried(after, BAD)
    assert after.status().until == time.now + 240.0
    closed = made(time)
    tried(closed, BAD, BAD)
    again = made(time)
    again.restore(closed.keep())
    tried(again, BAD)
    assert again.status().state == "open"


def test_a_wrong_clock_does_not_keep_it_open() -> None:
    time = Time()
    breaker = made(time)
    breaker.restore(SavedBreaker(time.now + 1e9, 1e9, "x", ((time.now + 1e9, True), (time.now - 1.0, True))))
    assert breaker.status().until == time.now + MAX_SECONDS
    assert breaker.keep().tries == ((time.now - 1.0, True),)
