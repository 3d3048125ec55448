"""A council keeps its time limit whatever its members do, and names who was late."""

from __future__ import annotations

import asyncio

import pytest

from routing.council.council import ALL_SECONDS, ANSWER_SECONDS, MIN_SECONDS, SYNTHESIS_AT
from routing.council.verdict import Failure, Stage, Verdict
from routing.errors import ModelError, Unreachable
from routing.types.llm import ChatMessage
from routing.types.tiers import Tier
from tests.routing.council.members import MOON, NEVER, STAR, SUN, Members, verdict_of


class RaisingOnCancel(Members):
    """One member's cancelled call raises another error after some time, as in some libraries."""

    raised: Exception = TimeoutError()
    lingers: float = 0.0

    async def __call__(self, model: str, tier: Tier, messages: tuple[ChatMessage, ...], seconds: float) -> str:
        try:
            return await super().__call__(model, tier, messages, seconds)
        except asyncio.CancelledError:
            await asyncio.sleep(self.lingers)
            raise self.raised from None


def late(verdict: Verdict) -> list[str]:
    return [member.model for member in verdict.members if member.failure and member.failure.cause == "late"]


def test_two_of_three_answer_and_the_third_is_late() -> None:
    members = Members(after={(STAR, "answers"): NEVER})
    verdict = verdict_of(members)
    assert (verdict.form, len(verdict.answered), len(verdict.members)) == ("synthesis", 2, 3)
    assert late(verdict) == [STAR]
    assert members.cancelled == [(STAR, "answers")]
    assert members.made("synthesis")[0].at == ANSWER_SECONDS
    assert verdict.unknown == 1, "a late call may have cost something"


def test_an_answer_in_the_last_second_counts() -> None:
    verdict = verdict_of(Members(after={(STAR, "answers"): ANSWER_SECONDS - 0.01}))
    assert len(verdict.answered) == 3
    assert late(verdict) == []


def test_one_of_three_is_not_late() -> None:
    verdict = verdict_of(Members(after={(STAR, "answers"): NEVER, (SUN, "answers"): NEVER}))
    assert (verdict.form, verdict.writer, verdict.seconds) == ("single", MOON, ANSWER_SECONDS)
    assert late(verdict) == [SUN, STAR]


def test_all_of_three_are_late() -> None:
    verdict = verdict_of(Members(after={(model, "answers"): NEVER for model in (SUN, MOON, STAR)}))
    assert (verdict.form, len(late(verdict)), verdict.seconds, verdict.unknown) == ("none", 3, ANSWER_SECONDS, 3)


def test_after_150_seconds_the_synthesis_starts_with_the_ballots_so_far() -> None:
    members = Members(
        ballots={SUN: [MOON, STAR]},
        after={(MOON, "answers"): 55.0, (MOON, "ranking"): NEVER, (STAR, "ranking"): NEVER},
    )
    verdict = verdict_of(members)
    assert members.made("synthesis")[0].at == SYNTHESIS_AT
    assert {call.seconds for call in members.made("ranking")} == {SYNTHESIS_AT - 55.0}
    assert members.made("synthesis")[0].seconds == ALL_SECONDS - SYNTHESIS_AT
    assert [member.voting for member in verdict.members] == ["counted", "late", "late"]
    assert verdict.leader
    assert verdict.leader.model == MOON
    assert late(verdict) == []
    assert not verdict.early
    assert sorted(members.cancelled) == [(MOON, "ranking"), (STAR, "ranking")]


def test_without_any_answer_it_ends_after_180_seconds() -> None:
    after: dict[tuple[str, Stage], float] = {(model, "ranking"): NEVER for model in (SUN, MOON, STAR)}
    members = Members(after={**after, (STAR, "answers"): 59.0, (SUN, "synthesis"): NEVER})
    verdict = verdict_of(members)
    assert verdict.seconds == ALL_SECONDS
    assert members.made("synthesis")[0].at == SYNTHESIS_AT
    assert (verdict.form, verdict.writer, verdict.failure) == ("member", SUN, Failure("late"))
    assert (verdict.unknown, len(verdict.calls)) == (4, 7)


def test_the_synthesis_gets_all_remaining_time() -> None:
    members = Members(after={(SUN, "synthesis"): 176.0})
    verdict = verdict_of(members)
    assert members.made("synthesis")[0].seconds == ALL_SECONDS - 2.0
    assert verdict.seconds == 178.0
    assert verdict.form == "synthesis"


@pytest.mark.parametrize("error", [TimeoutError(), Unreachable(STAR, "connection closed")])
def test_a_cancelled_call_with_another_error_is_late(error: Exception) -> None:
    class WithError(RaisingOnCancel):
        raised = error

    verdict = verdict_of(WithError(after={(STAR, "answers"): NEVER}))
    assert verdict.members[2].failure
    assert verdict.members[2].failure.cause == "late"
    assert verdict.unknown == 1


def test_a_queued_member_was_not_called_and_is_not_late() -> None:
    class InLine(Members):
        async def __call__(self, model: str, tier: Tier, messages: tuple[ChatMessage, ...], seconds: float) -> str:
            if model == STAR:
                await asyncio.sleep(NEVER)
            return await super().__call__(model, tier, messages, seconds)

    verdict = verdict_of(InLine())
    assert verdict.members[2].failure == Failure("line")
    assert late(verdict) == []
    assert (verdict.unknown, verdict.form, len(verdict.answered)) == (0, "synthesis", 2)


def test_no_call_starts_in_the_last_moment() -> None:
    class Stubborn(RaisingOnCancel):
        lingers = ALL_SECONDS - ANSWER_SECONDS - MIN_SECONDS + 0.1

    members = Stubborn(after={(STAR, "answers"): NEVER})
    verdict = verdict_of(members)
    assert members.made("synthesis") == []
    assert verdict.failure == Failure("late")
    assert (verdict.form, verdict.writer, len(verdict.answered)) == ("member", SUN, 2)


def test_an_early_error_is_neither_late_nor_charged() -> None:
    verdict = verdict_of(
        Members(answers={STAR: ModelError(STAR, "odd")}, after={(STAR, "answers"): ANSWER_SECONDS - 0.01})
    )
    assert verdict.members[2].failure == Failure("failed", "odd")
    assert (verdict.unknown, len(verdict.calls)) == (0, 3)
