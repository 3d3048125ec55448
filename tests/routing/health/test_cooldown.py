"""Retry-After is honoured."""

from __future__ import annotations

import pytest

from routing.errors import RateLimited, Unreachable
from routing.health.cooldown import MAX_SECONDS, Cooldowns
from tests.routing.health.breakers import Time


def test_a_model_rests_for_its_retry_after() -> None:
    time, told = Time(), []
    cooldowns = Cooldowns(time, lambda: told.append(time.now))
    cooldowns.note(RateLimited("a/1", "x", 30.0))
    cooldowns.note(RateLimited("a/2", "x"))
    cooldowns.note(Unreachable("a/3", "x", 0.0))
    assert [cooldowns.until(model) for model in ("a/1", "a/2", "a/3")] == [time.now + 30.0, None, None]
    assert len(told) == 1
    with pytest.raises(RateLimited, match="try again in 30 s") as refused:
        cooldowns.check("a/1")
    assert refused.value.retry_after == 30.0
    time.now += 30.0
    cooldowns.check("a/1")
    assert cooldowns.until("a/1") is None


def test_a_very_long_wait_is_capped() -> None:
    time = Time()
    cooldowns = Cooldowns(time)
    cooldowns.note(RateLimited("a/1", "x", 1e9))
    assert cooldowns.until("a/1") == time.now + MAX_SECONDS


def test_state_is_restored() -> None:
    time = Time()
    before, after = Cooldowns(time), Cooldowns(time)
    before.note(RateLimited("a/1", "x", 30.0))
    before.note(RateLimited("a/2", "x", 10.0))
    time.now += 20.0
    assert before.keep() == {"a/1": time.now + 10.0}
    after.restore({**before.keep(), "a/3": time.now + 1e9})
    assert after.keep() == {"a/1": time.now + 10.0, "a/3": time.now + MAX_SECONDS}
