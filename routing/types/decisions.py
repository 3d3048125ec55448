"""Decisions about a turn and a model's size, with their reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from routing.types.tiers import Tier

Size = Literal["S", "M", "L", "XL"]
SizeSource = Literal["owner", "family", "name", "metadata", "default"]
SIZES: tuple[Size, ...] = get_args(Size)
"""Smallest first."""


@dataclass(frozen=True, slots=True)
class SizeDecision:
    """A size class with its source; `evidence` explains it to people."""

    size: Size
    source: SizeSource
    evidence: str

    @property
    def known(self) -> bool:
        """False if the size is unknown and the default applies."""
        return self.source != "default"


TierSource = Literal[
    "prefix", "forced", "conversation", "skill", "preference", "auto", "owner", "default", "dynamic", "council"
]


@dataclass(frozen=True, slots=True)
class TierSwitch:
    """A tier set within the conversation, by the model or a skill; the newest counts."""

    tier: Tier
    source: Literal["conversation", "skill"]
    at: float
    evidence: str


@dataclass(frozen=True, slots=True)
class TierDecision:
    """The tier of a turn and the rule that chose it. `evidence` is the reason for the log (`skill 'code-review'`);
    `signals` are the reasons of /tier auto, as translatable clauses."""

    tier: Tier
    source: TierSource
    evidence: str
    signals: tuple[str, ...] = ()


ModelSource = Literal["override", "configured", "fallback", "stand-in", "local", "cheapest"]
"""`stand-in`: no model of the pool can be called, so one from another tier, or one that needs no key, answers. `local`:
not even that, so the demo model answers."""
Obstacle = Literal["key", "cooldown", "breaker", "slow", "vision", "tools", "window"]


@dataclass(frozen=True, slots=True)
class SkippedModel:
    """A model that was skipped, until a time (Unix seconds) if known; `reason` is its last failure."""

    model: str
    why: Obstacle
    until: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model for a call. `reasoning` None omits the parameter. `fallbacks` are tried next, in order. `skipped` are
    the skipped models; `instead_of` are those of them that would have come first, except models whose key was never
    set. `probe`: no model was ready, so this one is called anyway. `siblings` are other models of the only provider
    with a key, tried if the pool fails for reasons specific to its models."""

    model: str
    reasoning: str | None
    source: ModelSource
    fallbacks: tuple[str, ...] = ()
    skipped: tuple[SkippedModel, ...] = ()
    instead_of: tuple[SkippedModel, ...] = ()
    probe: bool = False
    siblings: tuple[str, ...] = ()

    @property
    def keyless(self) -> tuple[str, ...]:
        return tuple(each.model for each in self.skipped if each.why == "key")
