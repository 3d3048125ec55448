"""How many model calls run at the same time, from `runtime-config.json`."""

from __future__ import annotations

from dataclasses import dataclass

from routing.config.jsonfile import JsonObject

PER_PROVIDER = 8
"""A judgement, not a measurement: with answers of ten seconds that is 48 requests a minute, and a new account's limit
is of that size (Anthropic's first tier had 50). To wait here costs less than a 429 there."""


PER_USER = 3
"""The three members of a council, or three conversations; one person never has more than that of a provider's line."""


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """Calls at the same time: to one provider, for one person."""

    per_provider: int = PER_PROVIDER
    per_user: int = PER_USER


def read_concurrency(section: JsonObject) -> ConcurrencyLimits:
    """`parallel`: perProvider, perUser. Raises ConfigError."""
    return ConcurrencyLimits(section.whole("perProvider", PER_PROVIDER), section.whole("perUser", PER_USER))
