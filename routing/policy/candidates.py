"""Who of a pool is asked, in which order, and who is passed over and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from routing.health.breaker import CLOSED, BreakerStatus
from routing.health.cooldown import LONGEST_WAIT_SECONDS
from routing.types.decisions import Passed as Passed


@dataclass(frozen=True, slots=True)
class Needs:
    """What a message needs of a model; `tokens` is what its prompt takes at the very least."""

    vision: bool = False
    tools: bool = False
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """One model of a pool at the moment of asking: what it has, and what is known of its health. Times are Unix
    seconds; None: not cooling down, not slow."""

    model: str
    has_key: bool
    vision: bool
    tools: bool
    window: int
    cooldown: float | None = None
    breaker: BreakerStatus = CLOSED
    slow: float | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Whom to ask, best first. `passed` is in the order of the pool; who is only slow stands in both. With
    `last_resort` nobody was ready: those in `order` were passed over, too, and a breaker in their way is to be probed
    early."""

    order: tuple[str, ...]
    passed: tuple[Passed, ...]
    last_resort: bool = False


def pool_of(pool: Sequence[str], override: str | None = None) -> tuple[str, ...]:
    """A person's own model goes in front, and no model stands there twice."""
    return tuple(dict.fromkeys((override, *pool) if override else pool))


def candidates(members: Sequence[Member], needs: Needs, now: float) -> Candidates:
    """The members that have a key, are in health and have what the message needs, in the pool's order; slow ones last.

    Nobody is ready: better a doubtful answer than none. Then those are asked, in this order: who has what is needed,
    by the time when they would be ready; who lacks it and is in health; who lacks it and is not. Never asked is who has
    no key, or wants to be left alone for more than LONGEST_WAIT_SECONDS: there the answer is known. So `order` may be
    empty; `passed` then is what there is to say.
    """
    ready: list[Member] = []
    passed: list[Passed] = []
    for member in members:
        obstacle = _lacks(member, needs) or _rests(member, now)
        if obstacle is None:
            ready.append(member)
        else:
            passed.append(obstacle)
    if not ready:
        return _last_resort(members, passed, needs, now)
    slow = [each for each in ready if each.slow is not None]
    if not slow or len(slow) == len(ready):
        return Candidates(tuple(each.model for each in ready), tuple(passed))
    quick = [each for each in ready if each.slow is None]
    overtaken = [each for each in slow if ready.index(each) < ready.index(quick[-1])]
    passed += [Passed(each.model, "slow", each.slow) for each in overtaken]
    place = {each.model: at for at, each in enumerate(members)}
    passed.sort(key=lambda each: place[each.model])
    return Candidates(tuple(each.model for each in (*quick, *slow)), tuple(passed))


def _last_resort(members: Sequence[Member], passed: Sequence[Passed], needs: Needs, now: float) -> Candidates:
    def rank(member: Member) -> tuple[bool, float]:
        rests = _rests(member, now)
        soon = 0.0 if rests is None else (rests.until or now)
        return _lacks(member, needs) is not None, soon

    longest = now + LONGEST_WAIT_SECONDS
    able = [each for each in members if each.has_key and (each.cooldown is None or each.cooldown <= longest)]
    order = sorted(able, key=rank)
    return Candidates(tuple(each.model for each in order), tuple(passed), last_resort=True)


def _lacks(member: Member, needs: Needs) -> Passed | None:
    """What no time will mend."""
    if not member.has_key:
        return Passed(member.model, "key")
    if needs.vision and not member.vision:
        return Passed(member.model, "vision")
    if needs.tools and not member.tools:
        return Passed(member.model, "tools")
    if needs.tokens > member.window:
        return Passed(member.model, "window")
    return None


def _rests(member: Member, now: float) -> Passed | None:
    """What time will mend. A probe under way may end at any moment."""
    if member.cooldown is not None and member.cooldown > now:
        return Passed(member.model, "cooldown", member.cooldown)
    standing = member.breaker
    if standing.state == "probing" or (standing.state == "open" and standing.until > now):
        until = standing.until if standing.until > now else None
        return Passed(member.model, "breaker", until, standing.why)
    return None
