"""Scores how demanding a message is. Each sign has a weight; a total of 2 justifies a higher tier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from routing.policy.auto import features
from routing.policy.auto.decision import Signal
from routing.policy.auto.phrases import Hit, Hits, Idea
from routing.policy.auto.preprocessing import Reading

MIN_SCORE = 2.0
"""Total weight of the signals that decides for a tier."""

_FIRST_AND_MORE: Mapping[Idea, tuple[Signal, float, float, float]] = {
    "compare": ("comparison", 2.0, 0.0, 2.0),
    "puzzle": ("puzzle", 2.0, 0.0, 2.0),
    "maths": ("mathematics", 2.0, 0.4, 2.8),
    "advanced": ("mathematics", 2.0, 0.4, 2.8),
    "open": ("research", 2.0, 0.4, 2.8),
    "design": ("design", 1.2, 0.9, 3.0),
    "plan": ("plan", 1.6, 0.4, 2.0),
    "analysis": ("analysis", 1.3, 0.7, 3.0),
    "law": ("law", 1.3, 0.8, 3.0),
    "medicine": ("medicine", 1.4, 0.7, 3.0),
    "money": ("money", 0.9, 0.7, 2.4),
    "dispute": ("law", 1.2, 0.7, 2.6),
    "world": ("analysis", 1.1, 0.7, 2.5),
    "ponder": ("philosophy", 1.1, 0.9, 2.0),
}
"""Per idea: the signal, the weight of the first phrase, of each further one, and the maximum."""

ADVICE = (0.9, 0.4, 1.3)
"""Advice: the weight of the first phrase, of each further one, and the maximum; too little on its own."""
WHY, WHY_ABOUT = 0.6, 6
"""Weight of a "why", and the minimum length of its message in words."""
SITUATION, SITUATION_OF = 0.6, 8
"""Weight of a question after a statement, and the minimum length of its message in words."""
SYSTEM = 0.8
"""Extra weight for the design of a system rather than, say, a birthday card."""
FORMULA, MAX_FORMULAS = 1.0, 3
LENGTHS = ((400, 2.0), (120, 1.6), (60, 1.2), (25, 0.8), (14, 0.4))
"""Weights by minimum length in words."""
QUESTIONS, FEWEST_QUESTIONS, QUESTIONED = 1.0, 3, 18
NUMBERS = ((4, 0.8), (2, 0.4))
LIGHT = BRIEF = -1.5
TONGUE, CODISH, CODE_MENTIONED = 1.5, 0.7, 2.0
NEAR, NEAR_CHARACTERS = 3, 6
NEGATED_WITHIN, NEGATED_CHARACTERS = 3, 4
SUBJECTS = frozenset({"i", "we", "you", "they", "he", "she", "it", "me", "us", "people", "to", "ich", "wir"})
"""Words before "think hard" that describe a person instead of making a request."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The scores of a message: `code` in total and as `shown` by signs, `smart` with its `signals` (heaviest first),
    and whether the message asks for a proof, research, hard thinking or brevity."""

    code: float
    shown: float
    smart: float
    signals: tuple[Signal, ...]
    proof: bool
    research: bool
    intent: bool
    brief: bool


def weigh(reading: Reading, hits: Hits, material: str | None = None) -> Weight:
    """Score a message. `material` is the text searched for code if it is more than the request."""
    parts: dict[Signal, float] = {}
    for idea, (signal, first, more, most) in _FIRST_AND_MORE.items():
        if many := count(hits.get(idea, ())):
            parts[signal] = parts.get(signal, 0.0) + _of_many(many, first, more, most)
    if "design" in parts and hits.get("system"):
        parts["design"] += SYSTEM
    formulas = min(MAX_FORMULAS, features.formulas(reading.raw)) + 2 * features.is_hardness(reading.raw)
    if formulas:
        parts["mathematics"] = parts.get("mathematics", 0.0) + FORMULA * formulas
    parts.update(_size(reading))
    brief = bool(hits.get("brief"))
    smart = sum(parts.values()) + (BRIEF if brief else 0.0) + (LIGHT if hits.get("light") else 0.0)
    smart += _of_many(count(hits.get("advice", ())), *ADVICE)
    smart += WHY if hits.get("why") and reading.units >= WHY_ABOUT else 0.0
    smart += SITUATION if reading.situation and reading.units >= SITUATION_OF else 0.0
    smart += next((weight for least, weight in NUMBERS if reading.numbers >= least), 0.0)
    shown = features.code(reading.raw if material is None else material)
    return Weight(
        code=shown + _code_score(hits),
        shown=shown,
        smart=smart,
        signals=tuple(sorted(parts, key=lambda signal: -parts[signal])),
        proof=_is_proof(reading, hits, formulas),
        research=_is_research(reading, hits),
        intent=intent(reading, hits),
        brief=brief,
    )


def _of_many(many: int, first: float, more: float, most: float) -> float:
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


def intent(reading: Reading, hits: Hits) -> bool:
    """Whether the message asks for hard thinking: not if negated, and not if it describes someone thinking."""
    candidates = (*hits.get("intent", ()), *hits.get("time", ()), *_thought(hits))
    return any(not _is_taken_back(reading, hits, hit) for hit in candidates)


def _thought(hits: Hits) -> Iterator[Hit]:
    """Words for thinking that are close to words for doing it well."""
    manners = hits.get("hard", ())
    for hit in hits.get("think", ()):
        reach = NEAR_CHARACTERS if hit.unspaced else NEAR
        if any(
            manner.unspaced == hit.unspaced and max(hit.start - manner.end, manner.start - hit.end) <= reach
            for manner in manners
        ):
            yield hit


def _is_taken_back(reading: Reading, hits: Hits, hit: Hit) -> bool:
    reach = NEGATED_CHARACTERS if hit.unspaced else NEGATED_WITHIN
    for denial in hits.get("not", ()):
        if denial.unspaced == hit.unspaced and denial.start < hit.start <= denial.end + reach - 1:
            return True
    return not hit.unspaced and hit.start > 0 and reading.words[hit.start - 1] in SUBJECTS


def _size(reading: Reading) -> dict[Signal, float]:
    found: dict[Signal, float] = {}
    if length := next((weight for least, weight in LENGTHS if reading.units >= least), 0.0):
        found["long"] = length
    if reading.questions >= FEWEST_QUESTIONS and reading.units >= QUESTIONED:
        found["questions"] = QUESTIONS
    return found


def _code_score(hits: Hits) -> float:
    score = CODE_MENTIONED if hits.get("code") else 0.0
    return score + TONGUE * count(hits.get("tongue", ())) + CODISH * count(hits.get("codish", ()))


def _is_proof(reading: Reading, hits: Hits, formulas: int) -> bool:
    """Whether the message asks for a mathematical proof. "Show" needs more mathematical words than "prove"."""
    things = count(hits.get("object", ())) + 2 * count(hits.get("advanced", ())) + 2 * bool(hits.get("open"))
    if hits.get("prove"):
        return things + formulas > 0
    return bool(hits.get("show")) and things + min(formulas, 1) + bool(hits.get("let")) > 1


def _is_research(reading: Reading, hits: Hits) -> bool:
    """Whether the message has several unsolved or advanced topics, or discusses them at length."""
    things = count(hits.get("open", ())) + count(hits.get("advanced", ()))
    return things >= 3 or (things == 2 and bool(hits.get("open")) and reading.units >= LENGTHS[-1][0])
