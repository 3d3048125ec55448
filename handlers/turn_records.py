"""What is stored of a turn."""

from __future__ import annotations

from handlers.context import CommandContext
from routing.turn.truncation import emergency
from routing.types.decisions import TierDecision
from routing.types.history import TurnFacts, TurnRecord
from routing.types.tiers import DEFAULT_TIER
from routing.types.turns import Outcome, Question


def record_of(ask: CommandContext, question: Question, outcome: Outcome) -> TurnRecord:
    """What to store of a turn with this outcome; of a failed retry only its costs and facts."""
    if retry_failed(question, outcome):
        return TurnRecord(
            ask.turn_id,
            question.conversation_id,
            question.person.id,
            "",
            calls=outcome.calls,
            facts=_facts(question, outcome),
        )
    asked = question.text if outcome.most_chars is None else emergency(question.text, outcome.most_chars)
    return TurnRecord(
        turn_id=ask.turn_id,
        conversation_id=question.conversation_id,
        person_id=question.person.id,
        question=asked,
        pictures=question.pictures,
        messages=outcome.messages,
        calls=outcome.calls,
        source=question.source,
        replaces_from=question.replaces,
        facts=_facts(question, outcome),
        own_words=question.own_words,
        missed=outcome.missed,
    )


def retry_failed(question: Question, outcome: Outcome) -> bool:
    """Whether a retry failed, so that the earlier question and answer stay."""
    return question.replaces is not None and not _answered(outcome)


def _answered(outcome: Outcome) -> bool:
    """Whether a model answered or asked for a confirmation."""
    has_text = outcome.completion is not None and bool(outcome.completion.text.strip())
    return has_text or outcome.waiting is not None


def _went_up(decision: TierDecision) -> bool:
    return decision.source == "auto" and decision.tier != DEFAULT_TIER


def _facts(question: Question, outcome: Outcome) -> TurnFacts:
    completion, choice = outcome.completion, outcome.choice
    late = completion is not None and completion.finish == "late"
    return TurnFacts(
        tier=outcome.decision.tier,
        source=outcome.decision.source,
        model=choice.model if _answered(outcome) else "",
        seconds=outcome.seconds,
        first_token_seconds=outcome.first_token,
        failed=tuple(each.model for each in outcome.failed),
        fallback=bool(outcome.failed or choice.instead_of),
        timed_out=late or (outcome.limit is not None and outcome.limit.bound == "seconds"),
        escalated=question.escalates or _went_up(outcome.decision),
    )
