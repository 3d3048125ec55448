"""The chooser with what this folder holds: read once, by who first needs it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

from routing.policy.auto.choosing import Chooser
from routing.policy.auto.classifier import LinearClassifier
from routing.policy.auto.decision import AutoDecision
from routing.policy.auto.phrases import Phrases
from routing.types.tiers import TIERS, Tier


@cache
def shipped() -> Chooser:
    """With the phrases and the weights of this folder; reads them once."""
    return Chooser(Phrases.load(), LinearClassifier.load())


def load() -> None:
    """Read what the first choice would read else: 0.1 s, for a thread."""
    shipped()


def loaded() -> bool:
    """Whether the next choice has nothing to read."""
    return shipped.cache_info().currsize > 0


def choose(
    text: str,
    *,
    previous: Sequence[Tier] = (),
    had_code: bool = False,
    allowed: Collection[Tier] = TIERS,
    pictures: int = 0,
) -> AutoDecision:
    """As `Chooser.choose` says, with what is shipped."""
    return shipped().choose(text, previous=previous, had_code=had_code, allowed=allowed, pictures=pictures)
