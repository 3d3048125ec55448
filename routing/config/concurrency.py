"""Limits on concurrent model calls, from `runtime-config.json`."""

from __future__ import annotations

from dataclasses import dataclass

from routing.config.jsonfile import JsonObject

PER_PROVIDER = 8
"""A judgement, not a measurement: with ten-second answers that is 48 requests per minute, about the limit of a new
account (50 in Anthropic's first tier). Waiting here costs less than a 429."""
PER_USER = 3
"""Three members of a council, or three conversations; no one person can fill a provider's limit."""


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """Maximum number of concurrent calls per provider and per person."""

    per_provider: int = PER_PROVIDER
    per_user: int = PER_USER


def read_concurrency(section: JsonObject) -> ConcurrencyLimits:
    """Read `parallel`: perProvider, perUser. Raises ConfigError."""
    return ConcurrencyLimits(section.whole("perProvider", PER_PROVIDER), section.whole("perUser", PER_USER))
