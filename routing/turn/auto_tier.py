"""Chooses the tier of a question for /tier auto."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from functools import partial

from routing.policy.auto.chooser import default_chooser
from routing.policy.auto.classifier import Prediction
from routing.policy.auto.decision import EVIDENCE, AutoDecision, decide
from routing.policy.auto.vector_classifier import VectorClassifier
from routing.policy.models import Models
from routing.policy.tiers import tiers_for
from routing.ports import HistoryStore
from routing.tools.embedding.message_vectors import MessageVectors
from routing.tools.selector import MAX_CHARACTERS
from routing.turn.context import Context
from routing.types.decisions import TierDecision
from routing.types.learning import NOTHING_LEARNED, Learned
from routing.types.people import Preferences
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier
from routing.types.turns import Question

EARLIER_TURNS = 3
"""Number of earlier turns whose tiers count."""

E5_PREFIX = "e5:"

log = logging.getLogger("routing")


class AutoTier:
    """Chooses the tier of each question."""

    def __init__(self, history: HistoryStore, message_vectors: MessageVectors | None = None) -> None:
        """`message_vectors` count where words leave the tier open; without them, or with those of another encoder than
        the classifier's, words decide alone."""
        self._history = history
        self._vectors = message_vectors
        self._classifier: VectorClassifier | None = None

    async def choose(
        self,
        models: Models,
        question: Question,
        preferences: Preferences,
        context: Context,
        learned: Learned = NOTHING_LEARNED,
    ) -> TierDecision:
        """Return the tier and the reason. A repeated question gets the same tier, unless something was `learned` since,
        or only one of the two had its vector in time. A message that asks to think hard is taken at its word."""
        previous = await self._history.tiers(question.conversation_id, EARLIER_TURNS, question.replaces)
        usable = [each for each in allowed(models, preferences) if each in tiers_for(question.person.role)]
        had_code = previous[-1:] == ("coding",) or "```" in context.last_answer()
        found = await self.decide(question.text, usable, previous, had_code, len(question.pictures))
        other = learned.tier(found.tier) if "intent" not in found.signals else None
        if other is not None and other[0] in usable:
            found = decide(other[0], ("corrected" if other[1] == "choose" else "disliked",), usable)
        signals = tuple(EVIDENCE[each] for each in found.signals)
        return TierDecision(found.tier, "auto", f"auto: {found.evidence}", signals)

    async def decide(
        self,
        text: str,
        usable: Collection[Tier],
        previous: Sequence[Tier] = (),
        had_code: bool = False,
        pictures: int = 0,
    ) -> AutoDecision:
        """The tier of a message among those that are `usable`; see `Chooser.choose`. Takes less than a millisecond,
        unless it waits for the message's vector."""
        if not default_chooser.cache_info().currsize:
            await asyncio.to_thread(default_chooser)
        choose = partial(
            default_chooser().choose,
            text,
            previous=previous,
            had_code=had_code,
            allowed=usable,
            pictures=pictures,
        )
        found = choose()
        if found.unsure and (by_vector := await self._by_vector(text)) is not None:
            found = choose(by_vector=by_vector)
        return found

    async def _by_vector(self, text: str) -> Prediction | None:
        """The prediction by the vector; None without a vector."""
        if self._vectors is None:
            return None
        if self._classifier is None:
            self._classifier = await asyncio.to_thread(VectorClassifier.load)
            trained, used = self._classifier.encoder, self._vectors.embedder.name
            if used != trained and used.startswith(E5_PREFIX):
                log.warning("[AutoTier] By words alone: the classifier was trained with %s, not %s", trained, used)
        if self._vectors.embedder.name != self._classifier.encoder:
            return None
        text = text[:MAX_CHARACTERS]
        rows, reason = await self._vectors.of([text])
        if reason:
            log.info("[AutoTier] By words alone: %s", reason)
            return None
        return self._classifier.predict(rows[text].tolist())


def allowed(models: Models, preferences: Preferences) -> tuple[Tier, ...]:
    """The default tier, and each tier it may escalate to that has its own model."""
    contracts = models.config.contracts
    everyday = contracts[DEFAULT_TIER]
    higher = [tier for tier in TIERS if everyday.escalates_to(contracts[tier])]
    return (DEFAULT_TIER, *(each for each in higher if models.has_model(each, preferences)))
