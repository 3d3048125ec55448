"""Orders the models of a pool for a call and records why models were skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from routing.health.breaker import CLOSED, BreakerStatus
from routing.health.cooldown import MAX_WAIT_SECONDS
from routing.types.decisions import SkippedModel


@dataclass(frozen=True, slots=True)
class Needs:
    """What a message needs of a model; `tokens` is the minimum size of its prompt."""

    vision: bool = False
    tools: bool = False
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """One model of a pool with its abilities and current health. Times are Unix seconds; None: no cooldown, not
    slow."""

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
    """The models to try, best first. `skipped` lists the skipped ones in pool order; slow models are in both. With
    `last_resort` no model was ready: `order` then holds skipped models, and an open breaker is probed early."""

    order: tuple[str, ...]
    skipped: tuple[SkippedModel, ...]
    last_resort: bool = False


def pool_of(pool: Sequence[str], override: str | None = None) -> tuple[str, ...]:
    """Put a person's own model first; each model appears once."""
    return tuple(dict.fromkeys((override, *pool) if override else pool))


def candidates(members: Sequence[Member], needs: Needs, now: float) -> Candidates:
    """Select the models that have a key, are healthy and meet the needs, in pool order, slow ones last.

    If none is ready, doubtful models are tried: first those that meet the needs, by the time they become ready, then
    healthy ones that don't, then the rest. Models without a key, or with a cooldown longer than MAX_WAIT_SECONDS,
    are never tried, so `order` may be empty; `skipped` then holds the reasons.
    """
    ready: list[Member] = []
    skipped: list[SkippedModel] = []
    for member in members:
        reason = obstacle(member, needs, now)
        if reason is None:
            ready.append(member)
        else:
            skipped.append(reason)
    if not ready:
        return _last_resort(members, skipped, needs, now)
    slow = [each for each in ready if each.slow is not None]
    if not slow or len(slow) == len(ready):
        return Candidates(tuple(each.model for each in ready), tuple(skipped))
    quick = [each for each in ready if each.slow is None]
    overtaken = [each for each in slow if ready.index(each) < ready.index(quick[-1])]
    skipped += [SkippedModel(each.model, "slow", each.slow) for each in overtaken]
    place = {each.model: at for at, each in enumerate(members)}
    skipped.sort(key=lambda each: place[each.model])
    return Candidates(tuple(each.model for each in (*quick, *slow)), tuple(skipped))


def obstacle(member: Member, needs: Needs, now: float) -> SkippedModel | None:
    """Why a model can't be called now; None if it can."""
    return _permanent_obstacle(member, needs) or _temporary_obstacle(member, now)


def _last_resort(members: Sequence[Member], skipped: Sequence[SkippedModel], needs: Needs, now: float) -> Candidates:
    def rank(member: Member) -> tuple[bool, float]:
        rests = _temporary_obstacle(member, now)
        soon = 0.0 if rests is None else (rests.until or now)
        return _permanent_obstacle(member, needs) is not None, soon

    longest = now + MAX_WAIT_SECONDS
    able = [each for each in members if each.has_key and (each.cooldown is None or each.cooldown <= longest)]
    order = sorted(able, key=rank)
    return Candidates(tuple(each.model for each in order), tuple(skipped), last_resort=True)


def _permanent_obstacle(member: Member, needs: Needs) -> SkippedModel | None:
    """A permanent obstacle."""
    if not member.has_key:
        return SkippedModel(member.model, "key")
    if needs.vision and not member.vision:
        return SkippedModel(member.model, "vision")
    if needs.tools and not member.tools:
        return SkippedModel(member.model, "tools")
    if needs.tokens > member.window:
        return SkippedModel(member.model, "window")
    return None


def _temporary_obstacle(member: Member, now: float) -> SkippedModel | None:
    """A temporary obstacle. A running probe may end at any moment."""
    if member.cooldown is not None and member.cooldown > now:
        return SkippedModel(member.model, "cooldown", member.cooldown)
    status = member.breaker
    if status.state == "probing" or (status.state == "open" and status.until > now):
        until = status.until if status.until > now else None
        return SkippedModel(member.model, "breaker", until, status.why)
    return None
