"""A council from the question to the verdict: answers, ranking, writer and cost."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from routing.council.council import ANSWER_SECONDS
from routing.council.seats import Seat
from routing.council.verdict import Failure, Progress, Voting
from routing.errors import KeyRejected, ModelError, Unreachable
from tests.routing.council.members import BLOCK, MOON, SEATS, STAR, SUN, Call, CouncilRun, Members, verdict_of
from tests.routing.simulated_time import run_instantly

BROKEN = Unreachable(STAR, "connection refused")


def test_three_answers_three_ballots_and_a_synthesis() -> None:
    members = Members(ballots={SUN: [MOON, STAR], MOON: [STAR, SUN], STAR: [SUN, MOON]})
    verdict = verdict_of(members)
    assert (verdict.form, verdict.answer, verdict.writer, verdict.chairman) == ("synthesis", "All agree.", SUN, SUN)
    assert [member.model for member in verdict.answered] == [SUN, MOON, STAR]
    assert sorted(member.label for member in verdict.members) == ["A", "B", "C"]
    assert [member.voting for member in verdict.members] == ["counted"] * 3
    assert set(verdict.tally.scores.values()) == {Fraction(1, 2)}
    assert verdict.leader is None
    assert verdict.tally.places == (("A", "B", "C"),)
    assert (verdict.early, verdict.stopped, verdict.failure) == (False, False, None)
    assert [call.stage for call in members.calls] == ["answers"] * 3 + ["ranking"] * 3 + ["synthesis"]
    assert {call.seconds for call in members.made("answers")} == {ANSWER_SECONDS}


def test_voters_see_only_the_others_answers_and_the_chair_all() -> None:
    members = Members()
    verdict = verdict_of(members)
    own = {member.model: member.label for member in verdict.members}
    for call in members.made("ranking"):
        assert {block["label"] for block in BLOCK.finditer(call.text)} == {"A", "B", "C"} - {own[call.model]}
        assert f"{call.model} says" not in call.text
    chair = members.made("synthesis")[0]
    assert {block["text"]: block["label"] for block in BLOCK.finditer(chair.text)} == {
        f"{model} says yes": label for model, label in own.items()
    }


def test_labels_do_not_reveal_the_models() -> None:
    found = {tuple(member.label for member in verdict_of(Members(), seed=seed).members) for seed in range(40)}
    assert len(found) == 6
    orders = set()
    for seed in range(40):
        members = Members()
        verdict_of(members, seed=seed)
        orders.add(tuple(block["text"] for block in BLOCK.finditer(members.made("ranking")[0].text)))
    assert len(orders) == 2


def test_every_council_has_a_new_delimiter() -> None:
    marks = set()
    for seed in range(10):
        members = Members()
        verdict_of(members, seed=seed)
        marks |= {block["mark"] for call in members.calls for block in BLOCK.finditer(call.text)}
    assert len(marks) == 10


def test_the_ranking_is_in_the_synthesis_prompt_and_the_verdict() -> None:
    members = Members(ballots={SUN: [STAR, MOON], MOON: [SUN, STAR], STAR: [SUN, MOON]})
    verdict = verdict_of(members)
    label = {member.model: member.label for member in verdict.members}
    assert dict(verdict.tally.scores) == {label[SUN]: 1, label[STAR]: Fraction(1, 2), label[MOON]: 0}
    assert verdict.leader
    assert verdict.leader.model == SUN
    assert f"{label[STAR]} 0.50" in members.made("synthesis")[0].text
    assert verdict.members[0].ranking == (label[STAR], label[MOON])


def test_a_certain_leader_ends_the_vote_early() -> None:
    members = Members(
        ballots={SUN: [STAR, MOON], MOON: [STAR, SUN]}, after={(STAR, "ranking"): 80.0}, costs={SUN: Decimal("0.5")}
    )
    verdict = verdict_of(members)
    assert verdict.early
    assert verdict.leader
    assert verdict.leader.model == STAR
    assert [member.voting for member in verdict.members] == ["counted", "counted", "unneeded"]
    assert members.cancelled == [(STAR, "ranking")]
    assert verdict.seconds == 3.0
    assert verdict.unknown == 1, "what a cancelled call cost is not known"


def test_an_open_vote_waits_for_the_last_ballot() -> None:
    members = Members(ballots={SUN: [MOON, STAR], MOON: [SUN, STAR]}, after={(STAR, "ranking"): 80.0})
    verdict = verdict_of(members)
    assert not verdict.early
    assert verdict.members[2].voting == "counted"
    assert verdict.seconds == 82.0
    assert members.cancelled == []


@pytest.mark.parametrize(
    ("reply", "voting", "kept"),
    [
        ('{"ranking": []}', "abstained", 0),
        ("I'm sorry, I can't do that.", "abstained", 0),
        ('{"ranking": ["X", "Y"]}', "abstained", 0),
        ("garbage [[[{", "abstained", 0),
        ("[" * 1_000_000, "abstained", 0),
        ("", "abstained", 0),
        ('{"ranking": ["A", "A", "B", "C", "Z", "B"]}', "counted", 2),
        (Unreachable(STAR, "gone"), "failed", 0),
    ],
)
def test_an_invalid_ballot_is_ignored(reply: str | Unreachable, voting: Voting, kept: int) -> None:
    verdict = verdict_of(Members(ballots={SUN: [MOON, STAR], MOON: [SUN, STAR], STAR: reply}))
    star = verdict.members[2]
    assert (star.voting, len(star.ranking)) == (voting, kept)
    assert star.label not in star.ranking
    assert verdict.form == "synthesis"
    if not kept:
        assert sorted(verdict.tally.scores.values()) == [0, 1, 1]
        assert [len(place) for place in verdict.tally.places] == [2, 1]


def test_without_ballots_there_is_still_a_synthesis() -> None:
    members = Members(ballots=dict.fromkeys((SUN, MOON, STAR), "no"))
    verdict = verdict_of(members)
    assert (verdict.form, verdict.leader, dict(verdict.tally.scores)) == ("synthesis", None, {})
    assert "is best" not in members.made("synthesis")[0].text


def test_two_of_three_answer_without_a_vote() -> None:
    members = Members(answers={STAR: BROKEN})
    verdict = verdict_of(members)
    assert verdict.form == "synthesis"
    assert len(verdict.answered) == 2
    assert members.made("ranking") == []
    assert verdict.members[2].failure == Failure("failed", "connection refused")
    assert [member.voting for member in verdict.members] == ["none"] * 3
    assert (len(verdict.calls), verdict.cost, verdict.unknown) == (3, Decimal("0.003"), 0)


def test_a_single_answer_is_unchanged() -> None:
    members = Members(answers={STAR: BROKEN, SUN: KeyRejected(SUN, "no key"), MOON: " Just this. "})
    verdict = verdict_of(members)
    assert (verdict.form, verdict.answer, verdict.writer) == ("single", "Just this.", MOON)
    assert (verdict.chairman, len(members.calls), len(verdict.calls)) == ("", 3, 1)


def test_all_models_fail() -> None:
    verdict = verdict_of(Members(answers={SUN: BROKEN, MOON: BROKEN, STAR: " \n"}))
    assert (verdict.form, verdict.answer, verdict.writer, verdict.answered) == ("none", "", "", ())
    assert [member.failure and member.failure.cause for member in verdict.members] == ["failed", "failed", "empty"]


def test_a_council_of_two_members() -> None:
    members = Members()
    verdict = verdict_of(members, SEATS[1:])
    assert (verdict.form, verdict.chairman, len(members.calls)) == ("synthesis", MOON, 3)


def test_the_chair_is_the_strongest_of_those_who_answered() -> None:
    assert verdict_of(Members(answers={SUN: BROKEN})).chairman == MOON
    seats = (Seat(STAR, "gemini", "balanced"), Seat(MOON, "anthropic", "smart"), Seat(SUN, "openai", "balanced"))
    assert verdict_of(Members(), seats).chairman == MOON


@pytest.mark.parametrize(
    ("synthesis", "failure"),
    [
        (Unreachable(SUN, "gone"), Failure("failed", "gone")),
        ("  ", Failure("empty")),
        (lambda call: f"dissent-{mark(call)}", Failure("empty")),
    ],
)
def test_without_a_synthesis_the_best_answer_is_used(
    synthesis: str | ModelError | Callable[[Call], str], failure: Failure
) -> None:
    ballots = {SUN: [STAR, MOON], MOON: [STAR, SUN], STAR: [MOON, SUN]}
    verdict = verdict_of(Members(ballots=ballots, synthesis=synthesis))
    assert (verdict.form, verdict.answer, verdict.writer) == ("member", f"{STAR} says yes", STAR)
    assert (verdict.failure, verdict.chairman) == (failure, SUN)
    unranked = verdict_of(Members(answers={SUN: BROKEN}, synthesis=synthesis))
    assert (unranked.form, unranked.writer) == ("member", MOON), "the strongest, because there are no rankings"


def mark(call: Call) -> str:
    return next(BLOCK.finditer(call.text))["mark"]


def test_dissent_is_kept_apart_from_the_answer() -> None:
    verdict = verdict_of(Members(synthesis=lambda call: f"It is so.\n\ndissent-{mark(call)}\nB holds that it is not."))
    assert (verdict.answer, verdict.dissent) == ("It is so.", "B holds that it is not.")


def test_characters_no_database_accepts_are_replaced() -> None:
    verdict = verdict_of(Members(answers={MOON: "yes\na\0b\ud800"}, synthesis="c\0d"))
    assert (verdict.members[1].answer, verdict.answer) == ("yes\nab\ufffd", "cd")


def test_every_calls_cost_counts_and_unknown_is_not_free() -> None:
    everybody = verdict_of(Members(costs={SUN: Decimal("0.01"), MOON: Decimal("0.002")}))
    assert (len(everybody.calls), everybody.unknown) == (7, 0)
    assert everybody.cost == 3 * Decimal("0.01") + 2 * Decimal("0.002") + 2 * Decimal("0.001")
    unknown = verdict_of(Members(costs={SUN: None}))
    assert (unknown.cost, unknown.unknown) == (4 * Decimal("0.001"), 3)
    assert {(call.model, call.tier) for call in unknown.calls} == {(SUN, "deep"), (MOON, "deep"), (STAR, "coding")}


def test_progress_names_the_models() -> None:
    members = Members(after={(SUN, "answers"): 2.0, (MOON, "answers"): 3.0, (STAR, "ranking"): 5.0})
    run = CouncilRun(members)
    run_instantly(run.run())
    everybody, none = (SUN, MOON, STAR), ()
    assert run.shown == [
        Progress("answers", 3, none, 3, none, everybody),
        Progress("answers", 3, (STAR,), 3, none, (SUN, MOON)),
        Progress("answers", 3, (SUN, STAR), 3, none, (MOON,)),
        Progress("answers", 3, everybody, 3, none, none),
        Progress("ranking", 3, everybody, 3, none, everybody),
        Progress("ranking", 3, everybody, 3, (SUN, MOON), (STAR,)),
        Progress("ranking", 3, everybody, 3, everybody, none),
        Progress("synthesis", 3, everybody, 3, everybody, (SUN,)),
    ]
    two = CouncilRun(Members(answers={STAR: BROKEN}))
    run_instantly(two.run())
    assert two.shown[-1] == Progress("synthesis", 3, (SUN, MOON), 0, none, (SUN,))


def test_a_bug_is_raised_and_leaves_no_running_call() -> None:
    def synthesis(call: Call) -> str:
        raise ZeroDivisionError

    members = Members(synthesis=synthesis)
    with pytest.raises(ZeroDivisionError):
        verdict_of(members)

    class Faulty(Members):
        def _reply(self, call: Call) -> str:
            if call.model == MOON:
                raise ZeroDivisionError
            return "fine"

    faulty = Faulty()
    with pytest.raises(ZeroDivisionError):
        verdict_of(faulty)
    assert sorted(faulty.cancelled) == [(STAR, "answers"), (SUN, "answers")]
