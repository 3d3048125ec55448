"""Who sits in a council: two to seven models, from several vendors; the strongest of them is its chair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from routing.catalog.catalog import Catalog, vendor_of
from routing.types.tiers import Tier

USUAL_SEATS = 3
LEAST_SEATS = 2
MOST_SEATS = 7
STRONGEST_FIRST: tuple[Tier, ...] = ("deep", "coding", "smart", "balanced")
"""How strong a model is, is said by the strongest tier that it serves."""


@dataclass(frozen=True, slots=True)
class Seat:
    """One member: a `provider/model`, whose it is (behind a gateway, too), and the tier that it sits for: the
    wanted one where it serves that, else the strongest that it serves."""

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
    pools: Mapping[Tier, Sequence[str]],
    catalog: Catalog,
    ready: Callable[[str], bool],
    tier: Tier | None = None,
    most: int = USUAL_SEATS,
) -> tuple[Seat, ...] | Missing:
    """Up to `most` members, those of the wanted `tier` first, then the strongest. `pools` are those of the tiers that
    the person may use; `ready` says whether a model can be asked at all (it has a key). A model that only follows the
    shortest instructions has no seat."""
    known = tuple(_seats(pools, catalog, tier))
    found = tuple(seat for seat in known if ready(seat.model))
    chosen = _different(found, tier, most)
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


def _seats(pools: Mapping[Tier, Sequence[str]], catalog: Catalog, wanted: Tier | None) -> Iterator[Seat]:
    """Every model once, those of the wanted tier first, then the strongest; within a tier as its pool has them."""
    seen: set[str] = set()
    for tier in sorted(STRONGEST_FIRST, key=lambda each: each != wanted):
        for model in pools.get(tier, ()):
            if model not in seen and not catalog.lookup(model).tiny:
                seen.add(model)
                yield Seat(model, vendor_of(model, catalog), tier)


def _different(found: Sequence[Seat], tier: Tier | None, most: int) -> tuple[Seat, ...]:
    """One after the other: first those of the tier, then whose vendor has the fewest seats so far, then the strongest.
    The last seat goes to another vendor if all others have the same one."""
    chosen: list[Seat] = []
    seats = min(most, len(found))
    while len(chosen) < seats:
        held = Counter(seat.vendor for seat in chosen)
        left = [seat for seat in found if seat not in chosen]
        others = [seat for seat in left if seat.vendor not in held]
        last = len(chosen) == seats - 1 and len(held) == 1
        chosen.append(min(others if last and others else left, key=lambda seat: (seat.tier != tier, held[seat.vendor])))
    return tuple(sorted(chosen, key=found.index))
