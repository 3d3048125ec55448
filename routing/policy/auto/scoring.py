"""Scores how demanding a message is. Each signal has a weight; a total of 2 justifies a higher tier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from routing.policy.auto import features
from routing.policy.auto.decision import Signal
from routing.policy.auto.phrases import Hit, Hits, Idea
from routing.policy.auto.preprocessing import PreparedMessage

MIN_SCORE = 2.0
"""Total weight of the signals that decides for a tier."""

_WEIGHTS_BY_IDEA: Mapping[Idea, tuple[Signal, float, float, float]] = {
    "compare": ("comparison", 2.0, 0.0, 2.0),
    "puzzle": ("puzzle", 2.0, 0.0, 2.0),
    "maths": ("mathematics", 2.0, 0.4, 2.8),
    "advanced": ("mathematics", 2.0, 0.4, 2.8),
    "unsolved": ("research", 2.0, 0.4, 2.8),
    "design": ("design", 1.2, 0.9, 3.0),
    "plan": ("plan", 1.6, 0.4, 2.0),
    "analysis": ("analysis", 1.3, 0.7, 3.0),
    "law": ("law", 1.3, 0.8, 3.0),
    "medicine": ("medicine", 1.4, 0.7, 3.0),
    "money": ("money", 0.9, 0.7, 2.4),
    "dispute": ("law", 1.2, 0.7, 2.6),
    "politics": ("analysis", 1.1, 0.7, 2.5),
    "philosophy": ("philosophy", 1.1, 0.9, 2.0),
}
"""Per idea: the signal, the weight of the first phrase, of each further one, and the maximum."""

ADVICE = (0.9, 0.4, 1.3)
"""Advice: the weight of the first phrase, of each further one, and the maximum; too little on its own."""
WHY, WHY_MIN_WORDS = 0.6, 6
"""Weight of a "why", and the minimum length of its message in words."""
SITUATION, SITUATION_MIN_WORDS = 0.6, 8
"""Weight of a question after a statement, and the minimum length of its message in words."""
SYSTEM = 0.8
"""Extra weight for the design of a system rather than, say, a birthday card."""
FORMULA, MAX_FORMULAS = 1.0, 3
LENGTHS = ((400, 2.0), (120, 1.6), (60, 1.2), (25, 0.8), (14, 0.4))
"""Weights by minimum length in words."""
QUESTIONS, MIN_QUESTIONS, MIN_QUESTION_WORDS = 1.0, 3, 18
NUMBERS = ((4, 0.8), (2, 0.4))
LIGHT = BRIEF = -1.5
PROGRAMMING_LANGUAGE, CODE_LIKE, CODE_MENTIONED = 1.5, 0.7, 2.0
NEAR, NEAR_CHARACTERS = 3, 6
NEGATED_WITHIN, NEGATED_CHARACTERS = 3, 4
SUBJECTS = frozenset({"i", "we", "you", "they", "he", "she", "it", "me", "us", "people", "to", "ich", "wir"})
"""Words before "think hard" that describe a person instead of making a request."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a message: `code` in total and as `shown` by the text itself, `smart` with its `signals` (heaviest
    first), and whether the message asks for a proof, research, hard thinking or brevity."""

    code: float
    shown: float
    smart: float
    signals: tuple[Signal, ...]
    proof: bool
    research: bool
    intent: bool
    brief: bool


def score(message: PreparedMessage, hits: Hits, material: str | None = None) -> Scores:
    """Score a message. `material` is the text searched for code if it is more than the request."""
    parts: dict[Signal, float] = {}
    for idea, (signal, first, more, most) in _WEIGHTS_BY_IDEA.items():
        if many := count(hits.get(idea, ())):
            parts[signal] = parts.get(signal, 0.0) + _repeated(many, first, more, most)
    if "design" in parts and hits.get("system"):
        parts["design"] += SYSTEM
    formulas = min(MAX_FORMULAS, features.formula_kinds(message.raw)) + 2 * features.mentions_np_hardness(message.raw)
    if formulas:
        parts["mathematics"] = parts.get("mathematics", 0.0) + FORMULA * formulas
    parts.update(_length_scores(message))
    brief = bool(hits.get("brief"))
    smart = sum(parts.values()) + (BRIEF if brief else 0.0) + (LIGHT if hits.get("light") else 0.0)
    smart += _repeated(count(hits.get("advice", ())), *ADVICE)
    smart += WHY if hits.get("why") and message.units >= WHY_MIN_WORDS else 0.0
    smart += SITUATION if message.situation and message.units >= SITUATION_MIN_WORDS else 0.0
    smart += next((weight for least, weight in NUMBERS if message.numbers >= least), 0.0)
    shown = features.code_score(message.raw if material is None else material)
    return Scores(
        code=shown + _code_score(hits),
        shown=shown,
        smart=smart,
        signals=tuple(sorted(parts, key=lambda signal: -parts[signal])),
        proof=_is_proof(message, hits, formulas),
        research=_is_research(message, hits),
        intent=intent(message, hits),
        brief=brief,
    )


def _repeated(many: int, first: float, more: float, most: float) -> float:
    return min(most, first + more * (many - 1)) if many else 0.0


def count(hits: Sequence[Hit]) -> int:
    """The number of different phrases, ignoring overlaps."""
    found, end, seen = 0, {False: -1, True: -1}, set()
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        if hit.start >= end[hit.unspaced]:
            end[hit.unspaced] = hit.end
            found += hit.phrase not in seen
            seen.add(hit.phrase)
    return found


def intent(message: PreparedMessage, hits: Hits) -> bool:
    """Whether the message asks for hard thinking: not if negated, and not if it describes someone thinking."""
    candidates = (*hits.get("intent", ()), *hits.get("time", ()), *_thinking_hits(hits))
    return any(not _is_negated(message, hits, hit) for hit in candidates)


def _thinking_hits(hits: Hits) -> Iterator[Hit]:
    """Words for thinking that are close to words for doing it well."""
    adverbs = hits.get("hard", ())
    for hit in hits.get("think", ()):
        reach = NEAR_CHARACTERS if hit.unspaced else NEAR
        if any(
            adverb.unspaced == hit.unspaced and max(hit.start - adverb.end, adverb.start - hit.end) <= reach
            for adverb in adverbs
        ):
            yield hit


def _is_negated(message: PreparedMessage, hits: Hits, hit: Hit) -> bool:
    reach = NEGATED_CHARACTERS if hit.unspaced else NEGATED_WITHIN
    for negation in hits.get("not", ()):
        if negation.unspaced == hit.unspaced and negation.start < hit.start <= negation.end + reach - 1:
            return True
    return not hit.unspaced and hit.start > 0 and message.words[hit.start - 1] in SUBJECTS


def _length_scores(message: PreparedMessage) -> dict[Signal, float]:
    found: dict[Signal, float] = {}
    if length := next((weight for least, weight in LENGTHS if message.units >= least), 0.0):
        found["long"] = length
    if message.questions >= MIN_QUESTIONS and message.units >= MIN_QUESTION_WORDS:
        found["questions"] = QUESTIONS
    return found


def _code_score(hits: Hits) -> float:
    score = CODE_MENTIONED if hits.get("code") else 0.0
    return (
        score
        + PROGRAMMING_LANGUAGE * count(hits.get("programming_language", ()))
        + CODE_LIKE * count(hits.get("code_like", ()))
    )


def _is_proof(message: PreparedMessage, hits: Hits, formulas: int) -> bool:
    """Whether the message asks for a mathematical proof. "Show" needs more mathematical words than "prove"."""
    things = count(hits.get("object", ())) + 2 * count(hits.get("advanced", ())) + 2 * bool(hits.get("unsolved"))
    if hits.get("prove"):
        return things + formulas > 0
    return bool(hits.get("show")) and things + min(formulas, 1) + bool(hits.get("let")) > 1


def _is_research(message: PreparedMessage, hits: Hits) -> bool:
    """Whether the message has several unsolved or advanced topics, or discusses them at length."""
    things = count(hits.get("unsolved", ())) + count(hits.get("advanced", ()))
    return things >= 3 or (things == 2 and bool(hits.get("unsolved")) and message.units >= LENGTHS[-1][0])
