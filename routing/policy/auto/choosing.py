"""The tier for a message: what is certain first, then what weighs enough, else the everyday one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from routing.policy.auto import features
from routing.policy.auto.classifier import Hunch, LinearClassifier
from routing.policy.auto.decision import AutoDecision, Signal, decided
from routing.policy.auto.phrases import Hits, Idea, Phrases
from routing.policy.auto.preprocessing import Reading, read
from routing.policy.auto.scoring import ENOUGH, Weight, count, weigh
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier

SHORT, BARE = 12, 2
"""Words of what may go on with something; of what can hardly be anything else."""
BRIEFLY_SAID = 3
"""Words around a single one such as "why", which begins many a new question."""
SMALL_TALK = 12
SHORT_OF_CODE = 14
"""Words of a message that needs only a hint of code after code."""
GIVEN_WITHIN, ALL_ABOUT_WORDS = 25, 40
"""Where a longer message says that it brings a text along; the words of one that may say it anywhere."""
MOST_SIGNALS = 2
HINT = 0.8
"""What a short message must weigh that stays with a smart model."""
MUCH = 3.0
"""What a message must weigh that is about a text it gives."""

CONFIDENT = 0.8
"""Share from which the learned classifier overrides what the phrases found; `benchmarks.auto_tier` measures it."""
LIKELY, AFTER_CODE = 0.35, 0.25
"""How likely what the conversation is about must be in a short message that only hints at it."""
_OF_MATHEMATICS: tuple[Idea, ...] = ("prove", "show")
_HIGHER: Mapping[Tier, Tier] = {"balanced": "smart", "smart": "deep", "coding": "deep", "deep": "deep"}
_SOUNDS: Mapping[Tier, tuple[Signal, ...]] = {
    "balanced": (),
    "smart": ("sounds hard",),
    "coding": ("sounds technical",),
    "deep": ("sounds very hard",),
}

Choice = tuple[Tier, tuple[Signal, ...]]


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it was read: the phrases in it, what it weighs and what it sounds like."""

    reading: Reading
    hits: Hits
    weight: Weight
    hunch: Hunch | None


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses by phrases, and by what messages sound like where there is an ear."""

    phrases: Phrases
    ear: LinearClassifier | None

    def choose(
        self,
        text: str,
        *,
        previous: Sequence[Tier] = (),
        had_code: bool = False,
        allowed: Collection[Tier] = TIERS,
        pictures: int = 0,
    ) -> AutoDecision:
        """The tier for a message. `previous` are the tiers of the turns before it, the newest last; `had_code` says
        whether the last of them was about code; `pictures` came with the message. Never raises, whatever the text is;
        reads a bounded part of it, so that it takes less than a millisecond."""
        tier, signals = self._choice(read(text), tuple(previous), had_code, pictures)
        return decided(tier, signals, allowed)

    def _choice(self, reading: Reading, previous: tuple[Tier, ...], had_code: bool, pictures: int) -> Choice:
        if not reading.units or features.is_arithmetic(reading.raw):
            return DEFAULT_TIER, ("picture",) if pictures else ("everyday",)
        hits = self.phrases.find(reading)
        if _is_given(reading, hits):
            head = reading.head()
            hits = self.phrases.find(head)
            return _of_given(weigh(head, hits, material=reading.raw))
        weight = weigh(reading, hits)
        ear = None if _speaks_of_thinking(hits) else self.ear
        message = Message(reading, hits, weight, ear.hear(reading, weight) if ear else None)
        return _of_message(message, previous, had_code, pictures)


def _of_message(message: Message, previous: tuple[Tier, ...], had_code: bool, pictures: int) -> Choice:
    reading, hits, weight = message.reading, message.hits, message.weight
    tier, signals = _alone(message, had_code)
    if tier == DEFAULT_TIER and _is_small_talk(reading, hits):
        return DEFAULT_TIER, ("small talk",)
    follows = _follows(reading, hits, bool(pictures)) or _is_related(message, previous)
    if follows and tier != "deep":
        tier, signals = _of_following(tier, signals, hits, previous, had_code)
    if weight.intent:
        base = previous[-1] if previous and not signals and reading.units <= SHORT else tier
        return _HIGHER[base], ("intent", *signals)
    return tier, signals


def _alone(message: Message, had_code: bool) -> Choice:
    """What a message is for itself: certain signs first, then what it sounds like."""
    weight, short = message.weight, message.reading.units <= SHORT_OF_CODE
    if weight.proof and weight.code < features.CERTAIN + ENOUGH:
        return "deep", ("proof",)
    if weight.research:
        return "deep", ("research",)
    tier, signals = _weighed(weight)
    hunch = message.hunch
    if hunch is not None and hunch.tier != tier and weight.shown < features.CERTAIN:
        found = tier != DEFAULT_TIER or weight.brief
        if not found or hunch.shares[hunch.tier] >= CONFIDENT:
            tier, signals = hunch.tier, _SOUNDS[hunch.tier]
    hinted = weight.code > 0 or (hunch is not None and hunch.shares["coding"] >= AFTER_CODE)
    if tier == DEFAULT_TIER and had_code and short and hinted:
        return "coding", ("code before",)
    return tier, signals or (("brief",) if weight.brief else ())


def _weighed(weight: Weight) -> Choice:
    if weight.code >= ENOUGH:
        return "coding", ("code",)
    if weight.smart >= ENOUGH:
        return "smart", weight.signals[:MOST_SIGNALS]
    return DEFAULT_TIER, ()


def _is_given(reading: Reading, hits: Hits) -> bool:
    """Whether the message is about words or about a text that it brings along."""
    asked = (*hits.get("meaning", ()), *hits.get("edit", ()))
    if reading.units <= ALL_ABOUT_WORDS:
        return bool(asked)
    return any(hit.start <= GIVEN_WITHIN for hit in asked)


def _of_given(weight: Weight) -> Choice:
    """Only what is asked counts, not what is given; code is code in both."""
    if weight.code >= ENOUGH:
        return "coding", ("code",)
    if weight.proof:
        return "deep", ("proof",)
    if weight.intent:
        return "smart", ("intent", "words")
    if weight.smart >= MUCH:
        return "smart", weight.signals[:MOST_SIGNALS]
    return DEFAULT_TIER, ("words",)


def _speaks_of_thinking(hits: Hits) -> bool:
    """Whether hard thought is spoken of: asked for, called needless or told of, which sounds alike."""
    return bool(hits.get("intent") or (hits.get("think") and hits.get("hard")))


def _is_small_talk(reading: Reading, hits: Hits) -> bool:
    return bool(hits.get("thanks")) and not hits.get("mend") and reading.units <= SMALL_TALK and not reading.questions


def _follows(reading: Reading, hits: Hits, pictured: bool) -> bool:
    """Whether a short message goes on with what was said before."""
    if hits.get("mend") and reading.units <= SHORT:
        return True
    if reading.units <= BARE:
        return not pictured
    if reading.units <= SHORT and any(hit.start == 0 for hit in hits.get("and", ())):
        return True
    said = hits.get("more", ())
    if any(hit.end - hit.start > 1 and hit.start <= 1 for hit in said):
        return reading.units <= SHORT
    return reading.units <= BRIEFLY_SAID and count(said) > 0


def _is_related(message: Message, previous: tuple[Tier, ...]) -> bool:
    """Whether a short message has a hint of what the last one was about."""
    reading, hits, weight = message.reading, message.hits, message.weight
    if reading.units > SHORT or not previous:
        return False
    if previous[-1] == "deep":
        return "mathematics" in weight.signals or any(hits.get(idea) for idea in _OF_MATHEMATICS)
    likely = message.hunch is not None and message.hunch.shares["smart"] >= LIKELY
    return previous[-1] == "smart" and (weight.smart >= HINT or likely)


def _of_following(
    tier: Tier, signals: tuple[Signal, ...], hits: Hits, previous: tuple[Tier, ...], had_code: bool
) -> Choice:
    """The tier of the conversation, or the message's own where that is higher."""
    if tier == "coding" and signals == ("code",):
        return tier, signals
    if had_code and (tier == "coding" or hits.get("mend")):
        return "coding", ("code before",)
    before = previous[-1] if previous else DEFAULT_TIER
    if before == DEFAULT_TIER:
        return tier, signals
    return before, ("follow-up",)
