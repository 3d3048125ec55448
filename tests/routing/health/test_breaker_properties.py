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
class ReferenceBreaker:
    """The rules of `routing.health.breaker`, applied to `tries`: all attempts since it last opened or closed."""

    tries: list[tuple[float, bool]] = field(default_factory=list)
    seconds: float = 0.0
    until: float = 0.0

    def change(self, now: float, seconds: float) -> None:
        self.tries, self.seconds, self.until = [], seconds, now + seconds

    def ends(self, now: float, kind: str) -> bool:
        """Whether the breaker opens."""
        if kind == "theirs":
            return False
        self.tries.append((now, kind != "ok"))
        recent = [failed for at, failed in self.tries if at > now - 600]
        many = len(recent) >= 5 and sum(recent) / len(recent) > 0.5
        return kind != "ok" and (many or kind == "hopeless" or (len(recent) >= 3 and all(recent[-3:])))


@dataclass
class Comparison:
    """Both implementations side by side. `running`: the breaker's trial, the number of state changes at its start, and
    "probe", "early" for an early probe, or "" for other attempts."""

    time: Time = field(default_factory=Time)
    reference: ReferenceBreaker = field(default_factory=ReferenceBreaker)
    changes: int = 0
    running: list[tuple[Trial, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.breaker = Breaker(self.time, lambda: None)

    def begin(self, early: bool) -> None:
        trial = self.breaker.begin(early)
        due = self.time.now >= self.reference.until
        probing = any(kind for _, _, kind in self.running)
        may = not self.reference.seconds or (not probing and (due or early))
        assert (trial is not None) == may
        if trial is not None:
            kind = "" if not self.reference.seconds else "probe" if due else "early"
            self.running.append((trial, self.changes, kind))

    def change(self, seconds: float) -> None:
        self.reference.change(self.time.now, seconds)
        self.changes += 1

    def end(self, number: int, result: str) -> None:
        trial, changes, kind = self.running.pop(number % len(self.running))
        with trial:
            if result != "left":
                trial.end(RESULTS[result])
        if result == "left" or changes != self.changes:
            return
        if not kind:
            if self.reference.ends(self.time.now, result):
                self.change(60.0)
        elif result == "ok":
            self.change(0.0)
        elif result != "theirs" and kind == "probe":
            self.change(min(900.0, 2 * self.reference.seconds))

    def first_token(self, number: int) -> None:
        number %= len(self.running)
        trial, _, kind = self.running[number]
        trial.first_token()
        if kind:
            self.change(0.0)
            self.running[number] = (trial, self.changes, "")

    def check(self) -> None:
        status = self.breaker.status()
        probes = sum(bool(kind) for _, _, kind in self.running)
        assert probes <= 1
        assert status.state == ("closed" if not self.reference.seconds else "probing" if probes else "open")
        assert status.until == (self.reference.until if self.reference.seconds else 0.0)
        assert self.breaker.keep().tries == tuple(
            each for each in self.reference.tries if each[0] > self.time.now - 600
        )


@given(ACTIONS)
def test_the_breaker_matches_a_reference_model(actions: list[Action]) -> None:
    comparison = Comparison()
    for name, number in actions:
        if name == "wait":
            comparison.time.now += number
        elif name in ("begin", "early"):
            comparison.begin(name == "early")
        elif not comparison.running:
            continue
        elif name == "speaks":
            comparison.first_token(number)
        else:
            comparison.end(number, name)
        comparison.check()


@given(st.lists(st.sampled_from(("theirs", "ok", "left")), max_size=100))
def test_users_errors_never_open_it(results: list[str]) -> None:
    comparison = Comparison()
    for result in results:
        comparison.begin(False)
        comparison.end(0, result)
    assert comparison.breaker.status().state == "closed"
