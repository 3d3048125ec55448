"""Who sits in a council: up to three models, from as many vendors as there are; the strongest of them is its chair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from routing.models.catalog import Catalog
from routing.types import Tier

MOST_SEATS = 3
LEAST_SEATS = 2
STRONGEST_FIRST: tuple[Tier, ...] = ("deep", "coding", "smart", "balanced")
"""How strong a model is, is said by the strongest tier that it serves."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One member: a `provider/model`, whose it is (behind a gateway, too), and the strongest tier that it serves."""

    model: str
    vendor: str
    tier: Tier


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no council: too few models can be asked, or all are of one vendor. `found` could sit in it, `passed`
    could if they were ready."""

    why: Literal["models", "vendors"]
    found: tuple[Seat, ...]
    passed: tuple[str, ...]


def members(
    pools: Mapping[Tier, Sequence[str]], catalog: Catalog, ready: Callable[[str], bool]
) -> tuple[Seat, ...] | Missing:
    """The members, the strongest first. `pools` are those of the tiers that the person may use; `ready` says whether a
    model can be asked at all (it has a key). A model that only follows the shortest instructions has no seat."""
    known = tuple(_seats(pools, catalog))
    found = tuple(seat for seat in known if ready(seat.model))
    chosen = _different(found)
    if len({seat.vendor for seat in chosen}) >= LEAST_SEATS:
        return chosen
    passed = tuple(seat.model for seat in known if seat not in found)
    return Missing("models" if len(found) < LEAST_SEATS else "vendors", found, passed)


def strength(seat: Seat) -> int:
    """The larger, the stronger."""
    return -STRONGEST_FIRST.index(seat.tier)


def strongest(seats: Sequence[Seat]) -> Seat:
    """Of one or more; of equals the first."""
    return max(seats, key=strength)


def _seats(pools: Mapping[Tier, Sequence[str]], catalog: Catalog) -> Iterator[Seat]:
    """Every model once, the strongest first; within a tier as its pool has them."""
    seen: set[str] = set()
    for tier in STRONGEST_FIRST:
        for model in pools.get(tier, ()):
            if model not in seen and not catalog.lookup(model).tiny:
                seen.add(model)
                yield Seat(model, vendor_of(model, catalog), tier)


def vendor_of(model: str, catalog: Catalog) -> str:
    """`openrouter/google/gemini-2.5-pro` and `gemini/gemini-2.5-pro` → `gemini`; of a model that the catalogue does not
    know, what stands before its name."""
    own = "/".join(model.split("/")[-2:])
    card = catalog.lookup(own)
    return card.provider if card.known else own.partition("/")[0]


def _different(found: Sequence[Seat]) -> tuple[Seat, ...]:
    """One after the other, whose vendor has the fewest seats so far; of equals the strongest."""
    chosen: list[Seat] = []
    while len(chosen) < min(MOST_SEATS, len(found)):
        held = Counter(seat.vendor for seat in chosen)
        chosen.append(min((seat for seat in found if seat not in chosen), key=lambda seat: held[seat.vendor]))
    return tuple(sorted(chosen, key=found.index))
