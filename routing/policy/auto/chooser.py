"""Chooses the tier of a message: certain features first, then scores, else the default tier."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from routing.policy.auto import features
from routing.policy.auto.classifier import LinearClassifier, Prediction
from routing.policy.auto.decision import AutoDecision, Signal, decide
from routing.policy.auto.phrases import Hits, Idea, Phrases
from routing.policy.auto.preprocessing import PreparedMessage, preprocess
from routing.policy.auto.scoring import MIN_SCORE, Scores, count, score
from routing.types.tiers import DEFAULT_TIER, NEXT_TIER, TIERS, Tier

MAX_FOLLOW_UP_WORDS, MAX_CERTAIN_FOLLOW_UP_WORDS = 14, 2
"""Length in words: a message that may be a follow-up; one that almost certainly is."""
MAX_ONE_WORD_FOLLOW_UP = 3
"""Maximum length, in words, of a follow-up that contains a single word such as "why"."""
MAX_SMALL_TALK_WORDS = 12
MAX_AFTER_CODE_WORDS = 14
"""Maximum length, in words, of a message after code that needs only a hint of code."""
TEXT_ANNOUNCED_WITHIN, SHORT_TEXT_WORDS = 25, 40
"""The first words of a longer message that may announce a given text; the length up to which any word may."""
MAX_SIGNALS = 2
SMALL_TALK: tuple[Signal, ...] = ("small talk",)
MIN_SCORE_AFTER_SMART = 0.8
"""Minimum score of a short message that stays with the smart tier."""
MIN_SCORE_ABOUT_TEXT = 3.0
"""Minimum score of a message about a given text."""

SURE = 0.95
"""At this probability, a prediction by words needs no vector."""
RELATED_PROBABILITY, AFTER_CODE_PROBABILITY = 0.15, 0.12
"""Minimum probability of the conversation's topic in a short message that only hints at it."""
_MATHEMATICAL_IDEAS: tuple[Idea, ...] = ("prove", "show")
_PREDICTION_SIGNALS: Mapping[Tier, tuple[Signal, ...]] = {
    "balanced": (),
    "smart": ("sounds hard",),
    "coding": ("sounds technical",),
    "deep": ("sounds very hard",),
}

Choice = tuple[Tier, tuple[Signal, ...]]


@dataclass(frozen=True, slots=True)
class ScoredMessage:
    """A preprocessed message with its phrases and scores. `prediction` decides its tier; `by_words` is the prediction
    without the vector, which tells what a short message hints at."""

    message: PreparedMessage
    hits: Hits
    scores: Scores
    prediction: Prediction | None
    by_words: Prediction | None


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
        by_vector: Prediction | None = None,
    ) -> AutoDecision:
        """Choose the tier of a message. `previous` are the tiers of earlier turns, newest last; `had_code`: the last
        turn was about code; `pictures` counts the pictures of the message; `by_vector` is the prediction by its
        vector. Never raises. Reads a bounded part of the text, in less than a millisecond."""
        message = preprocess(text)
        if not message.units or features.is_arithmetic(message.raw):
            return decide(DEFAULT_TIER, ("picture",) if pictures else ("everyday",), allowed)
        hits = self.phrases.find(message)
        if _is_about_text(message, hits):
            head = message.head()
            hits = self.phrases.find(head)
            return decide(*_choose_for_text(score(head, hits, material=message.raw)), allowed)
        scores = score(message, hits)
        prediction = None
        if self.classifier is not None and not _mentions_thinking(hits):
            prediction = self.classifier.predict(message, hits, scores)
        scored = ScoredMessage(message, hits, scores, prediction, prediction)
        choice = _choose(scored, tuple(previous), had_code, pictures)
        unsure = (
            prediction is not None
            and prediction.probability < SURE
            and not _is_certain(scores)
            and choice[1] != SMALL_TALK
        )
        if unsure and prediction is not None and by_vector is not None:
            scored = replace(scored, prediction=prediction.combined(by_vector))
            choice = _choose(scored, tuple(previous), had_code, pictures)
        return decide(*choice, allowed, unsure)


@cache
def default_chooser() -> Chooser:
    """The chooser with the phrases and weights of this folder. Takes 0.1 s the first time."""
    return Chooser(Phrases.load(), LinearClassifier.load())


def _choose(scored: ScoredMessage, previous: tuple[Tier, ...], had_code: bool, pictures: int) -> Choice:
    message, hits, scores = scored.message, scored.hits, scored.scores
    tier, signals = _choose_alone(scored, had_code)
    if tier == DEFAULT_TIER and _is_small_talk(message, hits):
        return DEFAULT_TIER, SMALL_TALK
    continues = _is_follow_up(message, hits, bool(pictures)) or _is_related(scored, previous)
    if continues and tier != "deep":
        tier, signals = _choose_in_context(tier, signals, hits, previous, had_code)
    if scores.intent:
        base = previous[-1] if previous and not signals and message.units <= MAX_FOLLOW_UP_WORDS else tier
        return NEXT_TIER[base], ("intent", *signals)
    return tier, signals


def _choose_alone(scored: ScoredMessage, had_code: bool) -> Choice:
    """The tier of the message without its context: certain features first, then the classifier."""
    scores, short = scored.scores, scored.message.units <= MAX_AFTER_CODE_WORDS
    if _asks_for_proof(scores):
        return "deep", ("proof",)
    if scores.research:
        return "deep", ("research",)
    tier, signals = _choose_by_score(scores)
    prediction = scored.prediction
    if prediction is not None and prediction.tier != tier and scores.shown < features.CERTAIN:
        tier, signals = prediction.tier, _PREDICTION_SIGNALS[prediction.tier]
    by_words = scored.by_words
    hinted = scores.code > 0 or (by_words is not None and by_words.probabilities["coding"] >= AFTER_CODE_PROBABILITY)
    if tier == DEFAULT_TIER and had_code and short and hinted:
        return "coding", ("code before",)
    return tier, signals or (("brief",) if scores.brief else ())


def _asks_for_proof(scores: Scores) -> bool:
    return scores.proof and scores.code < features.CERTAIN + MIN_SCORE


def _is_certain(scores: Scores) -> bool:
    """Whether no prediction changes the tier."""
    return _asks_for_proof(scores) or scores.research or scores.shown >= features.CERTAIN


def _choose_by_score(scores: Scores) -> Choice:
    if scores.code >= MIN_SCORE:
        return "coding", ("code",)
    if scores.smart >= MIN_SCORE:
        return "smart", scores.signals[:MAX_SIGNALS]
    return DEFAULT_TIER, ()


def _is_about_text(message: PreparedMessage, hits: Hits) -> bool:
    """Whether the message is about words or a text that it contains."""
    asked = (*hits.get("meaning", ()), *hits.get("edit", ()))
    if message.units <= SHORT_TEXT_WORDS:
        return bool(asked)
    return any(hit.start <= TEXT_ANNOUNCED_WITHIN for hit in asked)


def _choose_for_text(scores: Scores) -> Choice:
    """Judge only the request, not the given text; code counts in both."""
    if scores.code >= MIN_SCORE:
        return "coding", ("code",)
    if scores.proof:
        return "deep", ("proof",)
    if scores.intent:
        return "smart", ("intent", "words")
    if scores.smart >= MIN_SCORE_ABOUT_TEXT:
        return "smart", scores.signals[:MAX_SIGNALS]
    return DEFAULT_TIER, ("words",)


def _mentions_thinking(hits: Hits) -> bool:
    """Whether the message mentions hard thinking; the classifier can't tell a request from a mention."""
    return bool(hits.get("intent") or (hits.get("think") and hits.get("hard")))


def _is_small_talk(message: PreparedMessage, hits: Hits) -> bool:
    return (
        bool(hits.get("thanks"))
        and not hits.get("fix")
        and message.units <= MAX_SMALL_TALK_WORDS
        and not message.questions
    )


def _is_follow_up(message: PreparedMessage, hits: Hits, pictured: bool) -> bool:
    """Whether a short message continues the conversation."""
    if hits.get("fix") and message.units <= MAX_FOLLOW_UP_WORDS:
        return True
    if message.units <= MAX_CERTAIN_FOLLOW_UP_WORDS:
        return not pictured
    if message.units <= MAX_FOLLOW_UP_WORDS and any(hit.start == 0 for hit in hits.get("and", ())):
        return True
    more = hits.get("more", ())
    if any(hit.end - hit.start > 1 and hit.start <= 1 for hit in more):
        return message.units <= MAX_FOLLOW_UP_WORDS
    return message.units <= MAX_ONE_WORD_FOLLOW_UP and count(more) > 0


def _is_related(scored: ScoredMessage, previous: tuple[Tier, ...]) -> bool:
    """Whether a short message hints at the topic of the last turn."""
    message, hits, scores = scored.message, scored.hits, scored.scores
    if message.units > MAX_FOLLOW_UP_WORDS or not previous:
        return False
    prediction = scored.by_words
    hard = prediction.probabilities["smart"] if prediction else 0.0
    if previous[-1] == "deep":
        mathematical = "mathematics" in scores.signals or any(hits.get(idea) for idea in _MATHEMATICAL_IDEAS)
        if mathematical or prediction is None or prediction.tier == "smart":
            return mathematical
        return hard + prediction.probabilities["deep"] >= RELATED_PROBABILITY
    return previous[-1] == "smart" and (scores.smart >= MIN_SCORE_AFTER_SMART or hard >= RELATED_PROBABILITY)


def _choose_in_context(
    tier: Tier, signals: tuple[Signal, ...], hits: Hits, previous: tuple[Tier, ...], had_code: bool
) -> Choice:
    """The conversation's tier, or the message's own if that is higher."""
    if tier == "coding" and signals == ("code",):
        return tier, signals
    if had_code and (tier == "coding" or hits.get("fix")):
        return "coding", ("code before",)
    before = previous[-1] if previous else DEFAULT_TIER
    if before == DEFAULT_TIER:
        return tier, signals
    return before, ("follow-up",)
