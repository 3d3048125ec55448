"""Selects the members of a council: two to seven models of several vendors, chaired by the strongest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from routing.catalog.catalog import Catalog, vendor_of
from routing.types.tiers import Tier

USUAL_SEATS = 3
MIN_SEATS = 2
MAX_SEATS = 7
STRONGEST_FIRST: tuple[Tier, ...] = ("deep", "coding", "smart", "balanced")
"""A model is as strong as the strongest tier it serves."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One member: `provider/model`, its vendor (also behind a gateway), and its tier: the wanted one if the model
    serves it, else the strongest it serves."""

    model: str
    vendor: str
    tier: Tier


@dataclass(frozen=True, slots=True)
class TooFewMembers:
    """Why there is no council: too few models, or only one vendor. `found` are usable models, `skipped` those that are
    not ready."""

    why: Literal["models", "vendors"]
    found: tuple[Seat, ...]
    skipped: tuple[str, ...]


def members(
    pools: Mapping[Tier, Sequence[str]],
    catalog: Catalog,
    ready: Callable[[str], bool],
    tier: Tier | None = None,
    most: int = USUAL_SEATS,
) -> tuple[Seat, ...] | TooFewMembers:
    """Select up to `most` members, first those of the wanted `tier`, then by strength. `pools` are those of the tiers
    that the person may use; `ready` tells whether a model can be called (it has a key). Tiny models are excluded."""
    known = tuple(_seats(pools, catalog, tier))
    found = tuple(seat for seat in known if ready(seat.model))
    chosen = _different(found, tier, most)
    if len({seat.vendor for seat in chosen}) >= MIN_SEATS:
        return chosen
    skipped = tuple(seat.model for seat in known if seat not in found)
    return TooFewMembers("models" if len(found) < MIN_SEATS else "vendors", found, skipped)


def strength(seat: Seat) -> int:
    """Higher is stronger."""
    return -STRONGEST_FIRST.index(seat.tier)


def strongest(seats: Sequence[Seat]) -> Seat:
    """The strongest of at least one seat; the first of equals."""
    return max(seats, key=strength)


def _seats(pools: Mapping[Tier, Sequence[str]], catalog: Catalog, wanted: Tier | None) -> Iterator[Seat]:
    """Every model once: those of the wanted tier first, then by strength, in pool order."""
    seen: set[str] = set()
    for tier in sorted(STRONGEST_FIRST, key=lambda each: each != wanted):
        for model in pools.get(tier, ()):
            if model not in seen and not catalog.lookup(model).tiny:
                seen.add(model)
                yield Seat(model, vendor_of(model, catalog), tier)


def _different(found: Sequence[Seat], tier: Tier | None, most: int) -> tuple[Seat, ...]:
    """Select seats one by one: first those of the tier, then the vendor with the fewest seats, then the strongest. If
    all other seats have one vendor, the last seat goes to another."""
    chosen: list[Seat] = []
    seats = min(most, len(found))
    while len(chosen) < seats:
        held = Counter(seat.vendor for seat in chosen)
        left = [seat for seat in found if seat not in chosen]
        others = [seat for seat in left if seat.vendor not in held]
        last = len(chosen) == seats - 1 and len(held) == 1
        chosen.append(min(others if last and others else left, key=lambda seat: (seat.tier != tier, held[seat.vendor])))
    return tuple(sorted(chosen, key=found.index))
