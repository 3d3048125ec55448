"""The table of failures: what follows when a model did not answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.errors import ContextOverflow, EmptyAnswer, ModelError, PolicyRefused, RateLimited, Unreachable
from routing.health.cooldown import LONGEST_WAIT_SECONDS
from routing.types.turns import Why

LEAST_SECONDS = 2.0
"""No try is started with less time than this left of the turn."""
MOST_SHORTER = 3
"""Times that a prompt is made shorter for one answer."""
PAUSE_SECONDS = (0.5, 1.0)
"""Before the only candidate is tried once more."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a turn stands when a try has failed. `candidates` there are, `asked` of them were, this one included;
    `repeats` of this one were made before. `tries` of `attempts` are used up. `shown`: the person has seen a part of
    the answer. The prompt was `shortened` so many times after an overflow; `larger`: a model that was not asked has a
    larger window. `siblings` are models beside the candidates, of the same provider."""

    candidates: int
    asked: int
    tries: int
    attempts: int
    seconds_left: float
    repeats: int = 0
    shown: bool = False
    shortened: int = 0
    larger: bool = False
    siblings: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """Ask the `next` candidate (`larger window`: the next that has one; `same provider`: one beside the candidates),
    the same one `again` (`shorten`: a shorter prompt, `allowance`: more output tokens) after so many seconds, or
    `stop`."""

    do: Literal["next", "again", "stop"]
    why: Why
    seconds: float = 0.0


def after(failure: ModelError | Literal["length"], at: Situation, chance: float = 0.5) -> Step:
    """What follows a failure, or an answer that was cut by its length with no text at all. `chance`, from 0 to 1,
    places a pause within PAUSE_SECONDS, so that those who failed together do not come back together."""
    if at.shown:
        return Step("stop", "shown")
    step = _step(failure, at, PAUSE_SECONDS[0] + chance * (PAUSE_SECONDS[1] - PAUSE_SECONDS[0]))
    if step.do == "stop":
        return step
    if at.tries >= at.attempts:
        return Step("stop", "attempts")
    if at.seconds_left - step.seconds < LEAST_SECONDS:
        return Step("stop", "deadline")
    return step


def _step(failure: ModelError | Literal["length"], at: Situation, pause: float) -> Step:
    match failure:
        case PolicyRefused():
            return Step("stop", "policy")
        case "length" | EmptyAnswer():
            why: Why = "allowance" if failure == "length" else "empty"
            return Step("again", why) if at.repeats == 0 else _next(at, failure)
        case ContextOverflow() if not at.shortened:
            return Step("again", "shorten")
        case ContextOverflow() if at.larger:
            return Step("next", "larger window")
        case ContextOverflow():
            return Step("again", "shorten") if at.shortened < MOST_SHORTER else Step("stop", "nobody left")
        case RateLimited(retry_after=wait) if at.asked >= at.candidates:
            fits = at.siblings == 0 or (wait or 0.0) <= at.seconds_left - LEAST_SECONDS
            if wait is not None and wait <= LONGEST_WAIT_SECONDS and fits:
                return Step("again", "asked to wait", wait)
        case Unreachable(retry_after=wait) if at.candidates == 1 and at.repeats == 0:
            seconds = max(wait or 0.0, pause)
            if seconds <= LONGEST_WAIT_SECONDS:
                return Step("again", "passing", seconds)
    return _next(at, failure)


def _next(at: Situation, failure: ModelError | Literal["length"]) -> Step:
    """A failure that all models of the provider share has counted them among the `asked`."""
    if at.asked < at.candidates:
        return Step("next", "other model")
    if isinstance(failure, ModelError) and failure.own and at.asked < at.candidates + at.siblings:
        return Step("next", "same provider")
    return Step("stop", "nobody left")
