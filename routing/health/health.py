"""The health of all models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from routing.config.contracts import TierContract
from routing.config.sections import ConcurrencyLimits
from routing.errors import KeyRejected, ModelError, ModelUnknown, OutOfCredit, Unreachable
from routing.health import persistence
from routing.health.breaker import BreakerStatus, Trial
from routing.health.breakers import Breakers, fingerprint
from routing.health.concurrency import ConcurrencyLimiter
from routing.health.cooldown import MAX_WAIT_SECONDS, Cooldowns
from routing.health.failures import Failures
from routing.health.latency import Latencies, Slow
from routing.health.learned_windows import LearnedWindows
from routing.health.local_speed import LocalSpeed
from routing.ports import Clock
from routing.types.llm import ProviderProfile
from routing.types.tiers import Tier


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One model's current health; `cooldown` is when it may be called again (Unix seconds)."""

    cooldown: float | None
    breaker: BreakerStatus
    slow: Slow | None


class ModelHealth:
    """Breakers, cooldowns, latencies, learned windows and concurrency of all models. `changed` is called if the state
    to save has changed, `unusable` for failures that only the owner can fix; both must return at once."""

    def __init__(
        self,
        clock: Clock,
        changed: Callable[[], None] = lambda: None,
        limits: ConcurrencyLimits | None = None,
        unusable: Callable[[ModelError], None] = lambda error: None,
    ) -> None:
        self._clock = clock
        self._unusable = unusable
        self.failures = Failures()
        self.breakers = Breakers(clock, changed)
        self.cooldowns = Cooldowns(clock, changed)
        self.latencies = Latencies(clock, changed)
        self.pace = LocalSpeed()
        self.windows = LearnedWindows(clock, changed)
        self.parallel = ConcurrencyLimiter(clock, limits or ConcurrencyLimits())

    def of(self, model: str, profile: ProviderProfile, tier: Tier) -> ModelStatus:
        """The health of a model with this profile in this tier."""
        status = self.breakers.status(model, fingerprint(profile))
        return ModelStatus(self.cooldowns.until(model), status, self.latencies.slow(model, tier))

    async def begin(self, model: str, profile: ProviderProfile, probe: bool) -> Trial | None:
        """Start an attempt. Raises ModelError if the model may not be called. With `probe` (no other model is left) an
        open breaker is probed early and a short Retry-After is waited for; None: another probe is running."""
        until = self.cooldowns.until(model) if probe else None
        if until is not None and until - self._clock() <= MAX_WAIT_SECONDS:
            await asyncio.sleep(until - self._clock())
        self.cooldowns.check(model)
        breaker = self.breakers.of(model, fingerprint(profile))
        trial = breaker.begin(early=probe)
        if trial is None and not probe:
            raise Unreachable(model, breaker.status().why)
        return trial

    async def probed(self, model: str, profile: ProviderProfile) -> None:
        """Wait for another turn's probe. Raises its failure, which applies to all waiting calls."""
        shared = await self.breakers.of(model, fingerprint(profile)).probed()
        if shared is not None:
            raise type(shared)(model, shared.reason, shared.retry_after, shared.raw)

    def record_failure(self, error: ModelError) -> None:
        """Record a failed attempt; its trial has informed the breaker."""
        self.failures.note(error.model, error.reason, self._clock())
        self.cooldowns.note(error)
        if isinstance(error, (KeyRejected, ModelUnknown, OutOfCredit)):
            self._unusable(error)

    def record_duration(self, model: str, contract: TierContract, seconds: float, finished: bool = True) -> None:
        """Record the duration of an attempt that answered or, if not `finished`, was cut off."""
        self.latencies.note(model, contract, seconds, finished)

    def keep(self) -> str:
        return persistence.dump(self.breakers, self.cooldowns, self.latencies, self.windows)

    def restore(self, text: str) -> None:
        """Restore the state that `keep` returned. Anything else is ignored and logged."""
        persistence.load(text, self.breakers, self.cooldowns, self.latencies, self.windows)
