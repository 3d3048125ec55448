"""Saves breakers, cooldowns, latencies and learned windows as JSON, to survive a restart."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from routing.config import jsonfile
from routing.errors import ConfigError
from routing.health import breaker, latency
from routing.health.breakers import Breakers
from routing.health.cooldown import Cooldowns
from routing.health.latency import Latencies
from routing.health.learned_windows import LearnedWindows, SavedWindow
from routing.text import storable
from routing.types.tiers import Tier

VERSION: Final = 1

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class _Saved:
    """The saved form: (model, key fingerprint, state), model → until, (model, tier, state), model → (window, until)."""

    version: Literal[1]
    breakers: tuple[tuple[str, str, breaker.SavedBreaker], ...]
    cooldowns: dict[str, float]
    latencies: tuple[tuple[str, Tier, latency.SavedLatency], ...]
    windows: dict[str, SavedWindow] = field(default_factory=dict)


def dump(breakers: Breakers, cooldowns: Cooldowns, latencies: Latencies, learned: LearnedWindows) -> str:
    """Serialise the state to one line of JSON, with fingerprints instead of keys."""
    saved = _Saved(
        VERSION,
        tuple((*place, kept) for place, kept in breakers.keep().items()),
        cooldowns.keep(),
        tuple((*service, kept) for service, kept in latencies.keep().items()),
        learned.keep(),
    )
    return storable(json.dumps(_form().dump_python(saved), ensure_ascii=False))


def load(text: str, breakers: Breakers, cooldowns: Cooldowns, latencies: Latencies, learned: LearnedWindows) -> bool:
    """Restore the output of `dump`. Other text, also of another version, is logged and ignored; returns False then."""
    try:
        saved = _form().validate_python(jsonfile.parse(text, "the memory of failures").document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        log.warning("[Failover] The saved failures are ignored: %s: %s", first["loc"], first["msg"])
        return False
    except ConfigError as error:
        log.warning("[Failover] The saved failures are ignored: %s", error)
        return False
    breakers.restore({(model, key): kept for model, key, kept in saved.breakers})
    cooldowns.restore(saved.cooldowns)
    latencies.restore({(model, tier): kept for model, tier, kept in saved.latencies})
    learned.restore(saved.windows)
    return True


@cache
def _form() -> TypeAdapter[_Saved]:
    """Created on first use, because it takes some milliseconds."""
    return TypeAdapter(_Saved)
