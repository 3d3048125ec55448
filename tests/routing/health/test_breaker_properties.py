"""The breaker compared with a simple implementation that keeps all attempts and counts them each time."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from routing.errors import ContextOverflow, KeyRejected, ModelError, Unreachable
from routing.health.breaker import Breaker, Trial
from tests.routing.health.breakers import Time

RESULTS: dict[str, ModelError | None] = {
    "ok": None,
    "down": Unreachable("a/1", "down"),
    "theirs": ContextOverflow("a/1", "theirs"),
    "hopeless": KeyRejected("a/1", "no"),
}
Action = tuple[str, int]
ACTIONS = st.lists(
    st.tuples(st.sampled_from(("begin", "begin", "begin", "begin", "early", "speaks", "left")), st.integers(0, 5))
    | st.tuples(st.just("begin"), st.just(0))
    | st.tuples(st.sampled_from(("ok", "down", "down", "down", "theirs", "hopeless")), st.integers(0, 5))
    | st.tuples(st.just("wait"), st.sampled_from((1, 59, 60, 119, 120, 540, 600, 900))),
    max_size=120,
)


@dataclass
class Plain:
    """The specification, implemented literally; `tries` are those since it last opened or closed."""

    tries: list[tuple[float, bool]] = field(default_factory=list)
    seconds: float = 0.0
    until: float = 0.0

    def turned(self, now: float, seconds: float) -> None:
        self.tries, self.seconds, self.until = [], seconds, now + seconds

    def ended(self, now: float, kind: str) -> bool:
        """Whether the breaker opens."""
        if kind == "theirs":
            return False
        self.tries.append((now, kind != "ok"))
        recent = [failed for at, failed in self.tries if at > now - 600]
        many = len(recent) >= 5 and sum(recent) / len(recent) > 0.5
        return kind != "ok" and (many or kind == "hopeless" or (len(recent) >= 3 and all(recent[-3:])))


@dataclass
class Walk:
    """Both implementations side by side. A running attempt is the breaker's trial, the number of state
    changes at its start, and whether it probes."""

    time: Time = field(default_factory=Time)
    plain: Plain = field(default_factory=Plain)
    turns: int = 0
    running: list[tuple[Trial, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.breaker = Breaker(self.time, lambda: None)

    def begin(self, early: bool) -> None:
        trial = self.breaker.begin(early)
        due = self.time.now >= self.plain.until
        probing = any(kind for _, _, kind in self.running)
        may = not self.plain.seconds or (not probing and (due or early))
        assert (trial is not None) == may
        if trial is not None:
            kind = "" if not self.plain.seconds else "probe" if due else "early"
            self.running.append((trial, self.turns, kind))

    def turn(self, seconds: float) -> None:
        self.plain.turned(self.time.now, seconds)
        self.turns += 1

    def end(self, number: int, result: str) -> None:
        trial, turns, kind = self.running.pop(number % len(self.running))
        with trial:
            if result != "left":
                trial.end(RESULTS[result])
        if result == "left" or turns != self.turns:
            return
        if not kind:
            if self.plain.ended(self.time.now, result):
                self.turn(60.0)
        elif result == "ok":
            self.turn(0.0)
        elif result != "theirs" and kind == "probe":
            self.turn(min(900.0, 2 * self.plain.seconds))

    def speaks(self, number: int) -> None:
        number %= len(self.running)
        trial, _, kind = self.running[number]
        trial.speaks()
        if kind:
            self.turn(0.0)
            self.running[number] = (trial, self.turns, "")

    def check(self) -> None:
        status = self.breaker.status()
        probes = sum(bool(kind) for _, _, kind in self.running)
        assert probes <= 1
        assert status.state == ("closed" if not self.plain.seconds else "probing" if probes else "open")
        assert status.until == (self.plain.until if self.plain.seconds else 0.0)
        assert self.breaker.keep().tries == tuple(each for each in self.plain.tries if each[0] > self.time.now - 600)


@given(ACTIONS)
def test_the_breaker_matches_a_reference_model(actions: list[Action]) -> None:
    walk = Walk()
    for name, number in actions:
        if name == "wait":
            walk.time.now += number
        elif name in ("begin", "early"):
            walk.begin(name == "early")
        elif not walk.running:
            continue
        elif name == "speaks":
            walk.speaks(number)
        else:
            walk.end(number, name)
        walk.check()


@given(st.lists(st.sampled_from(("theirs", "ok", "left")), max_size=100))
def test_users_errors_never_open_it(results: list[str]) -> None:
    walk = Walk()
    for result in results:
        walk.begin(False)
        walk.end(0, result)
    assert walk.breaker.status().state == "closed"
