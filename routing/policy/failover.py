"""The failover table: what to do after a failed attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.errors import ContextOverflow, EmptyAnswer, ModelError, PolicyRefused, RateLimited, Unreachable
from routing.health.cooldown import MAX_WAIT_SECONDS
from routing.types.turns import Why

MIN_SECONDS = 2.0
"""No attempt starts with less time left in the turn."""
MAX_SHORTENED = 3
"""Maximum number of times a prompt is shortened for one answer."""
PAUSE_SECONDS = (0.5, 1.0)
"""Pause before the only candidate is tried again."""

Failure = ModelError | Literal["length"]
"""`length`: the answer hit the output limit before its first word."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of a turn after a failed attempt. `asked` of the `candidates` were tried, this one included, after
    `repeats` earlier attempts with it. `tries` of `attempts` are used up. `shortened` counts how often the
    prompt was shortened; `larger`: an untried model has a larger window. `siblings` counts further models of the same
    provider."""

    candidates: int
    asked: int
    tries: int
    attempts: int
    seconds_left: float
    repeats: int = 0
    shortened: int = 0
    larger: bool = False
    siblings: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """Try the `next` candidate (`larger window`: the next one with a larger window; `same provider`: a sibling), the
    same one `again` (`shorten`: with a shorter prompt; `allowance`: with more output tokens) after `seconds`, or
    `stop`."""

    do: Literal["next", "again", "stop"]
    why: Why
    seconds: float = 0.0


def after(failure: Failure, at: Situation, chance: float = 0.5) -> Step:
    """Decide what follows a failure, or an answer that hit the output limit without any text. `chance` (0 to 1) selects
    a pause within PAUSE_SECONDS, so that concurrent failures don't retry at the same moment."""
    step = _step(failure, at, PAUSE_SECONDS[0] + chance * (PAUSE_SECONDS[1] - PAUSE_SECONDS[0]))
    if step.do == "stop":
        return step
    if at.tries >= at.attempts:
        return Step("stop", "attempts")
    if at.seconds_left - step.seconds < MIN_SECONDS:
        return Step("stop", "deadline")
    return step


def _step(failure: Failure, at: Situation, pause: float) -> Step:
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
            return Step("again", "shorten") if at.shortened < MAX_SHORTENED else Step("stop", "no model left")
        case RateLimited(retry_after=wait) if at.asked >= at.candidates:
            fits = at.siblings == 0 or (wait or 0.0) <= at.seconds_left - MIN_SECONDS
            if wait is not None and wait <= MAX_WAIT_SECONDS and fits:
                return Step("again", "asked to wait", wait)
        case Unreachable(retry_after=wait) if at.candidates == 1 and at.repeats == 0:
            seconds = max(wait or 0.0, pause)
            if seconds <= MAX_WAIT_SECONDS:
                return Step("again", "passing", seconds)
    return _next(at, failure)


def _next(at: Situation, failure: Failure) -> Step:
    """The next model. If a failure affects all models of a provider, `asked` already counts them."""
    if at.asked < at.candidates:
        return Step("next", "other model")
    if isinstance(failure, ModelError) and failure.own and at.asked < at.candidates + at.siblings:
        return Step("next", "same provider")
    return Step("stop", "no model left")
