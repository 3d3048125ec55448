"""Chooses the tier of a message: certain signs first, then scores, else the default tier."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from routing.policy.auto import features
from routing.policy.auto.classifier import LinearClassifier, Prediction
from routing.policy.auto.decision import AutoDecision, Signal, decided
from routing.policy.auto.phrases import Hits, Idea, Phrases
from routing.policy.auto.preprocessing import Reading, read
from routing.policy.auto.scoring import MIN_SCORE, Weight, count, weigh
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier

SHORT, BARE = 12, 2
"""Length in words: a message that may be a follow-up; one that almost certainly is."""
BRIEFLY_SAID = 3
"""Maximum length, in words, of a follow-up that contains a single word such as "why"."""
SMALL_TALK = 12
SHORT_OF_CODE = 14
"""Maximum length, in words, of a message after code that needs only a hint of code."""
GIVEN_WITHIN, ALL_ABOUT_WORDS = 25, 40
"""The first words of a longer message that may announce a given text; the length up to which any word may."""
MAX_SIGNALS = 2
HINT = 0.8
"""Minimum score of a short message that stays with the smart tier."""
MUCH = 3.0
"""Minimum score of a message about a given text."""

CONFIDENT = 0.8
"""Probability from which the classifier overrides the phrases; measured by `benchmarks.auto_tier`."""
LIKELY, AFTER_CODE = 0.35, 0.25
"""Minimum probability of the conversation's topic in a short message that only hints at it."""
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
    """A preprocessed message with its phrases, score and prediction."""

    reading: Reading
    hits: Hits
    weight: Weight
    prediction: Prediction | None


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses by phrases and, if there is one, by a classifier."""

    phrases: Phrases
    classifier: LinearClassifier | None

    def choose(
        self,
        text: str,
        *,
        previous: Sequence[Tier] = (),
        had_code: bool = False,
        allowed: Collection[Tier] = TIERS,
        pictures: int = 0,
    ) -> AutoDecision:
        """Choose the tier of a message. `previous` are the tiers of earlier turns, newest last; `had_code`: the last
        turn was about code; `pictures` counts the pictures of the message. Never raises. Reads a bounded part of the
        text, in less than a millisecond."""
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
        classifier = None if _speaks_of_thinking(hits) else self.classifier
        message = Message(reading, hits, weight, classifier.predict(reading, weight) if classifier else None)
        return _of_message(message, previous, had_code, pictures)


@cache
def shipped() -> Chooser:
    """The chooser with the phrases and weights of this folder. Takes 0.1 s the first time."""
    return Chooser(Phrases.load(), LinearClassifier.load())


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
    """The tier of the message without its context: certain signs first, then the classifier."""
    weight, short = message.weight, message.reading.units <= SHORT_OF_CODE
    if weight.proof and weight.code < features.CERTAIN + MIN_SCORE:
        return "deep", ("proof",)
    if weight.research:
        return "deep", ("research",)
    tier, signals = _weighed(weight)
    prediction = message.prediction
    if prediction is not None and prediction.tier != tier and weight.shown < features.CERTAIN:
        found = tier != DEFAULT_TIER or weight.brief
        if not found or prediction.shares[prediction.tier] >= CONFIDENT:
            tier, signals = prediction.tier, _SOUNDS[prediction.tier]
    hinted = weight.code > 0 or (prediction is not None and prediction.shares["coding"] >= AFTER_CODE)
    if tier == DEFAULT_TIER and had_code and short and hinted:
        return "coding", ("code before",)
    return tier, signals or (("brief",) if weight.brief else ())


def _weighed(weight: Weight) -> Choice:
    if weight.code >= MIN_SCORE:
        return "coding", ("code",)
    if weight.smart >= MIN_SCORE:
        return "smart", weight.signals[:MAX_SIGNALS]
    return DEFAULT_TIER, ()


def _is_given(reading: Reading, hits: Hits) -> bool:
    """Whether the message is about words or a text that it contains."""
    asked = (*hits.get("meaning", ()), *hits.get("edit", ()))
    if reading.units <= ALL_ABOUT_WORDS:
        return bool(asked)
    return any(hit.start <= GIVEN_WITHIN for hit in asked)


def _of_given(weight: Weight) -> Choice:
    """Judge only the request, not the given text; code counts in both."""
    if weight.code >= MIN_SCORE:
        return "coding", ("code",)
    if weight.proof:
        return "deep", ("proof",)
    if weight.intent:
        return "smart", ("intent", "words")
    if weight.smart >= MUCH:
        return "smart", weight.signals[:MAX_SIGNALS]
    return DEFAULT_TIER, ("words",)


def _speaks_of_thinking(hits: Hits) -> bool:
    """Whether the message mentions hard thinking; the classifier can't tell a request from a mention."""
    return bool(hits.get("intent") or (hits.get("think") and hits.get("hard")))


def _is_small_talk(reading: Reading, hits: Hits) -> bool:
    return bool(hits.get("thanks")) and not hits.get("mend") and reading.units <= SMALL_TALK and not reading.questions


def _follows(reading: Reading, hits: Hits, pictured: bool) -> bool:
    """Whether a short message continues the conversation."""
    if hits.get("mend") and reading.units <= SHORT:
        return True
    if reading.units <= BARE:
        return not pictured
    if reading.units <= SHORT and any(hit.start == 0 for hit in hits.get("and", ())):
        return True
    more = hits.get("more", ())
    if any(hit.end - hit.start > 1 and hit.start <= 1 for hit in more):
        return reading.units <= SHORT
    return reading.units <= BRIEFLY_SAID and count(more) > 0


def _is_related(message: Message, previous: tuple[Tier, ...]) -> bool:
    """Whether a short message hints at the topic of the last turn."""
    reading, hits, weight = message.reading, message.hits, message.weight
    if reading.units > SHORT or not previous:
        return False
    if previous[-1] == "deep":
        return "mathematics" in weight.signals or any(hits.get(idea) for idea in _OF_MATHEMATICS)
    likely = message.prediction is not None and message.prediction.shares["smart"] >= LIKELY
    return previous[-1] == "smart" and (weight.smart >= HINT or likely)


def _of_following(
    tier: Tier, signals: tuple[Signal, ...], hits: Hits, previous: tuple[Tier, ...], had_code: bool
) -> Choice:
    """The conversation's tier, or the message's own if that is higher."""
    if tier == "coding" and signals == ("code",):
        return tier, signals
    if had_code and (tier == "coding" or hits.get("mend")):
        return "coding", ("code before",)
    before = previous[-1] if previous else DEFAULT_TIER
    if before == DEFAULT_TIER:
        return tier, signals
    return before, ("follow-up",)
