"""Rate limits per person, with a manual clock."""

import pytest

from handlers.access.rate_limit import RateLimit, Window, parse_limits
from routing.errors import ConfigError, Refused
from routing.types.messages import UserKey

ANN, BEN = UserKey("telegram", "1"), UserKey("telegram", "2")


class ManualClock:
    """A manual clock."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("20/minute,100/hour", (Window(20, 60), Window(100, 3600))),
        (" 1 / Second ", (Window(1, 1),)),
        ("5/days", (Window(5, 86_400),)),
        ("OFF", ()),
    ],
)
def test_limits_are_parsed(text: str, windows: tuple[Window, ...]) -> None:
    assert parse_limits(text) == windows


@pytest.mark.parametrize("text", ["", "20", "20/fortnight", "0/minute", "-1/minute", "20/minute,", "many"])
def test_invalid_limits_name_the_variable(text: str) -> None:
    with pytest.raises(ConfigError, match="USER_RATE_LIMIT must look like 20/minute,100/hour or off"):
        parse_limits(text)


def test_the_limit_is_announced_once_with_its_end() -> None:
    clock = ManualClock()
    limit = RateLimit(parse_limits("2/minute"))
    assert limit.take(ANN, clock.now)
    clock.now += 20
    assert limit.take(ANN, clock.now)
    with pytest.raises(Refused, match="again in 40 seconds"):
        limit.take(ANN, clock.now)
    assert limit.take(ANN, clock.now) is False
    assert limit.take(BEN, clock.now) is True
    clock.now += 40
    assert limit.take(ANN, clock.now) is True
    with pytest.raises(Refused, match="again in 20 seconds"):
        limit.take(ANN, clock.now)


def test_the_longest_wait_of_all_windows_counts() -> None:
    clock = ManualClock()
    limit = RateLimit(parse_limits("2/minute,3/hour"))
    for _ in range(3):
        assert limit.take(ANN, clock.now)
        clock.now += 61
    with pytest.raises(Refused, match="again in 57 minutes"):
        limit.take(ANN, clock.now)


def test_refused_messages_do_not_count() -> None:
    clock = ManualClock()
    limit = RateLimit(parse_limits("1/minute"))
    assert limit.take(ANN, clock.now)
    with pytest.raises(Refused):
        limit.take(ANN, clock.now)
    for _ in range(50):
        limit.take(ANN, clock.now)
    clock.now += 60
    assert limit.take(ANN, clock.now)


def test_off_disables_the_limit() -> None:
    limit = RateLimit(())
    assert all(limit.take(ANN, 1000.0) for _ in range(1000))


def test_a_clock_set_back_does_not_lock_people_out() -> None:
    limit = RateLimit(parse_limits("2/hour"))
    assert limit.take(ANN, 10_000.0)
    assert limit.take(ANN, 10_001.0)
    assert limit.take(ANN, 2_000.0), "entries in the future are ignored"
    assert limit.take(ANN, 1_990.0), "messages may arrive out of order"
    with pytest.raises(Refused):
        limit.take(ANN, 2_001.0)
