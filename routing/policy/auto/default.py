"""The shipped chooser, loaded on first use."""

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
    """Load the phrases and weights of this folder, once."""
    return Chooser(Phrases.load(), LinearClassifier.load())


def load() -> None:
    """Load the chooser ahead of its first use; takes 0.1 s, so call it in a thread."""
    shipped()


def loaded() -> bool:
    return shipped.cache_info().currsize > 0


def choose(
    text: str,
    *,
    previous: Sequence[Tier] = (),
    had_code: bool = False,
    allowed: Collection[Tier] = TIERS,
    pictures: int = 0,
) -> AutoDecision:
    """See `Chooser.choose`."""
    return shipped().choose(text, previous=previous, had_code=had_code, allowed=allowed, pictures=pictures)
