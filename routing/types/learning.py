"""What is learned from how people use tools and tiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from routing.types.tiers import NEXT_TIER, Tier
from routing.types.toolkits import Toolkit

MAX_EXAMPLES = 1_000
"""Maximum number of examples per person; the newest stay."""
MAX_ALL_EXAMPLES = 20_000
"""Maximum number of examples of all people: about 12 MB in the database."""

Signal = Literal["found", "named", "off", "disliked", "tier", "disliked tier"]
"""What a person or a model did: a model called a tool that it had to search for, or one that it knew by name only; the
person switched a toolkit off after it was shown for a message, disliked an answer with one of its tools, chose another
tier than /tier auto, or disliked an answer on a tier that /tier auto had chosen."""
SIGNALS: tuple[Signal, ...] = get_args(Signal)
Effect = Literal["show", "hide", "choose", "raise"]
"""Show a toolkit, hide it, choose a tier, or choose the next higher tier than this one."""
EFFECTS: Mapping[Signal, Effect] = {
    "found": "show",
    "named": "show",
    "off": "hide",
    "disliked": "hide",
    "tier": "choose",
    "disliked tier": "raise",
}


class Lesson(NamedTuple):
    """A signal and what it is about: a tool (`found`, `named`), a toolkit or a tier."""

    signal: Signal
    subject: str


WORDS = "words"
"""The name of the encoder that hashes words, for bots without the shipped one."""


@dataclass(frozen=True, slots=True)
class Example:
    """A lesson from the message of a turn, which is kept as a vector only: `vector` are signed bytes of any scale, made
    by the encoder of this name. `at` is in Unix seconds."""

    id: int
    lesson: Lesson
    turn_id: str
    encoder: str
    vector: bytes = field(repr=False)
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Learned:
    """How many of a person's examples near a message say what: `called` by tool, `unwanted` by toolkit, `chosen` and
    `disliked` by tier. `least` of them take effect."""

    least: int = 1
    called: Mapping[str, int] = field(default_factory=dict)
    unwanted: Mapping[str, int] = field(default_factory=dict)
    chosen: Mapping[Tier, int] = field(default_factory=dict)
    disliked: Mapping[Tier, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.called or self.unwanted or self.chosen or self.disliked)

    def shows(self, toolkit: Toolkit) -> bool:
        """Whether a toolkit is to be shown. Base toolkits are shown anyway."""
        return not toolkit.base and self._balance(toolkit) >= self.least

    def hides(self, toolkit: Toolkit) -> bool:
        """Whether a toolkit is not to be shown. Base toolkits are never hidden."""
        return not toolkit.base and -self._balance(toolkit) >= self.least

    def tier(self, automatic: Tier) -> tuple[Tier, Effect] | None:
        """The tier instead of the automatic one, and why; None if that stays."""
        tier: Tier = self.choice or automatic
        effect: Effect = "choose"
        if self.disliked_enough(tier):
            tier, effect = NEXT_TIER[tier], "raise"
        return None if tier == automatic else (tier, effect)

    @property
    def choice(self) -> Tier | None:
        """The tier that the person chose by hand, unless they chose others about as often."""
        most = max(self.chosen, key=self.chosen.__getitem__, default=None)
        return most if most and 2 * self.chosen[most] - sum(self.chosen.values()) >= self.least else None

    def disliked_enough(self, tier: str) -> bool:
        """Whether the person disliked enough answers on this tier."""
        return any(name == tier and count >= self.least for name, count in self.disliked.items())

    def _balance(self, toolkit: Toolkit) -> int:
        called = sum(self.called.get(card.name, 0) for card in toolkit.tools) if self.called else 0
        return called - self.unwanted.get(toolkit.name, 0)


NOTHING_LEARNED = Learned()
