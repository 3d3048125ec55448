"""What was decided for a turn, and why: frozen, slotted, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.types.tiers import Tier

TierSource = Literal[
    "prefix", "forced", "conversation", "skill", "preference", "auto", "owner", "default", "dynamic", "council"
]


@dataclass(frozen=True, slots=True)
class TierSwitch:
    """A tier set from inside the conversation, by the model or by a skill; the newer one counts."""

    tier: Tier
    source: Literal["conversation", "skill"]
    at: float
    evidence: str


@dataclass(frozen=True, slots=True)
class TierDecision:
    """Which tier serves a turn, by which rule; `evidence` is how the log says it (`skill 'code-review'`), `signals` are
    what /tier auto saw, in clauses that can be translated."""

    tier: Tier
    source: TierSource
    evidence: str
    signals: tuple[str, ...] = ()


ModelSource = Literal["override", "configured", "fallback", "stand-in", "local", "cheapest"]
"""`stand-in`: no model of the pool can be called, so one that needs no key or serves another tier answers; `local`: not
even that, so the demo model does."""


Obstacle = Literal["key", "cooldown", "breaker", "slow", "vision", "tools", "window"]


@dataclass(frozen=True, slots=True)
class Passed:
    """A model that is not asked in its turn, up to a time (Unix seconds) where that is known; `reason` is its last
    failure."""

    model: str
    why: Obstacle
    until: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model for a call. `reasoning` None sends no reasoning parameter. `fallbacks` are asked next, in their order;
    `passed` were not asked in their turn, of whom `instead_of` come before the model and are not only without a key
    that the owner never gave. `probe`: nobody was ready, so that this one is asked all the same. `siblings` are other
    models of the only provider that has a key, tried when the pool failed for reasons of its models' own."""

    model: str
    reasoning: str | None
    source: ModelSource
    fallbacks: tuple[str, ...] = ()
    passed: tuple[Passed, ...] = ()
    instead_of: tuple[Passed, ...] = ()
    probe: bool = False
    siblings: tuple[str, ...] = ()

    @property
    def keyless(self) -> tuple[str, ...]:
        """Those that nobody gave a key for."""
        return tuple(each.model for each in self.passed if each.why == "key")
