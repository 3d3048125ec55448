"""The tier for a message: what is certain first, then what weighs enough, else the everyday one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from routing.auto import marks
from routing.auto.decision import AutoDecision, Signal, decided
from routing.auto.phrases import Hits, Idea, Phrases
from routing.auto.reading import Reading, read
from routing.auto.weighing import ENOUGH, Weight, count, weigh
from routing.types import DEFAULT_TIER, TIERS, Tier

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

_PHRASES = Phrases.load()
_OF_MATHEMATICS: tuple[Idea, ...] = ("prove", "show")
_HIGHER: Mapping[Tier, Tier] = {"balanced": "smart", "smart": "deep", "coding": "deep", "deep": "deep"}

Choice = tuple[Tier, tuple[Signal, ...]]


def choose(
    text: str,
    *,
    previous: Sequence[Tier] = (),
    had_code: bool = False,
    allowed: Collection[Tier] = TIERS,
    pictures: int = 0,
) -> AutoDecision:
    """The tier for a message. `previous` are the tiers of the turns before it, the newest last; `had_code` says whether
    the last of them was about code; `pictures` came with the message. Never raises, whatever the text is; reads a
    bounded part of it, so that it takes less than a millisecond."""
    reading = read(text)
    hits = _PHRASES.find(reading)
    tier, signals = _choice(reading, hits, tuple(previous), had_code, pictures)
    return decided(tier, signals, allowed)


def _choice(reading: Reading, hits: Hits, previous: tuple[Tier, ...], had_code: bool, pictures: int) -> Choice:
    if not reading.units or marks.is_arithmetic(reading.raw):
        return DEFAULT_TIER, ("picture",) if pictures else ("everyday",)
    if _is_given(reading, hits):
        return _of_given(reading)
    weight = weigh(reading, hits)
    tier, signals = _of_weight(weight, reading, had_code)
    if tier == DEFAULT_TIER and _is_small_talk(reading, hits):
        return DEFAULT_TIER, ("small talk",)
    follows = _follows(reading, hits, bool(pictures)) or _is_related(reading, hits, weight, previous)
    if follows and tier != "deep":
        tier, signals = _of_following(tier, signals, hits, previous, had_code)
    if weight.intent:
        base = previous[-1] if previous and not signals and reading.units <= SHORT else tier
        return _HIGHER[base], ("intent", *signals)
    return tier, signals


def _of_weight(weight: Weight, reading: Reading, had_code: bool) -> Choice:
    if weight.proof and weight.code < marks.CERTAIN + ENOUGH:
        return "deep", ("proof",)
    if weight.research:
        return "deep", ("research",)
    if weight.code >= ENOUGH:
        return "coding", ("code",)
    if weight.smart >= ENOUGH:
        return "smart", weight.signals[:MOST_SIGNALS]
    if had_code and weight.code > 0 and reading.units <= SHORT_OF_CODE:
        return "coding", ("code before",)
    return DEFAULT_TIER, ("brief",) if weight.brief else ()


def _is_given(reading: Reading, hits: Hits) -> bool:
    """Whether the message is about words or about a text that it brings along."""
    asked = (*hits.get("meaning", ()), *hits.get("edit", ()))
    if reading.units <= ALL_ABOUT_WORDS:
        return bool(asked)
    return any(hit.start <= GIVEN_WITHIN for hit in asked)


def _of_given(reading: Reading) -> Choice:
    """Only what is asked counts, not what is given; code is code in both."""
    head = reading.head()
    hits = _PHRASES.find(head)
    weight = weigh(head, hits, material=reading.raw)
    if weight.code >= ENOUGH:
        return "coding", ("code",)
    if weight.proof:
        return "deep", ("proof",)
    if weight.intent:
        return "smart", ("intent", "words")
    if weight.smart >= MUCH:
        return "smart", weight.signals[:MOST_SIGNALS]
    return DEFAULT_TIER, ("words",)


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


def _is_related(reading: Reading, hits: Hits, weight: Weight, previous: tuple[Tier, ...]) -> bool:
    """Whether a short message has a hint of what the last one was about."""
    if reading.units > SHORT or not previous:
        return False
    if previous[-1] == "deep":
        return "mathematics" in weight.signals or any(hits.get(idea) for idea in _OF_MATHEMATICS)
    return previous[-1] == "smart" and weight.smart >= HINT


def _of_following(
    tier: Tier, signals: tuple[Signal, ...], hits: Hits, previous: tuple[Tier, ...], had_code: bool
) -> Choice:
    """The tier of the conversation, or the message's own where that is higher."""
    if tier == "coding" or (had_code and hits.get("mend")):
        return "coding", ("code",) if tier == "coding" and signals == ("code",) else ("code before",)
    before = previous[-1] if previous else DEFAULT_TIER
    if before == DEFAULT_TIER:
        return tier, signals
    return before, ("follow-up",)
