"""/stop ends a council at any point with a partial verdict, and leaves no call running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from routing.council.verdict import Failure, Progress, Verdict
from tests.routing.council.members import MOON, NEVER, STAR, SUN, CouncilRun, Members
from tests.routing.simulated_time import run_instantly

When = Callable[[Progress], bool]


def stopped(members: Members, when: When) -> Verdict:
    """The verdict of a council that is stopped half a second after this progress appears."""

    async def story() -> Verdict:
        run = CouncilRun(members)

        def watch(shown: Progress) -> None:
            if when(shown):
                asyncio.get_running_loop().call_later(0.5, run.stop.request)

        run.on_progress = watch
        verdict = await run.run()
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        assert asyncio.all_tasks() == {task}
        return verdict

    return run_instantly(story())


def test_stop_before_the_first_answer() -> None:
    members = Members()
    verdict = stopped(members, lambda shown: shown.stage == "answers" and not shown.answered)
    assert (verdict.stopped, verdict.form, verdict.answer) == (True, "none", "")
    assert {member.failure for member in verdict.members} == {Failure("stopped")}
    assert len(members.cancelled) == 3
    assert (verdict.unknown, verdict.seconds) == (3, 0.5)


def test_stop_after_one_answer() -> None:
    members = Members(after={(SUN, "answers"): 30.0, (STAR, "answers"): 30.0})
    verdict = stopped(members, lambda shown: len(shown.answered) == 1)
    assert (verdict.stopped, verdict.form, verdict.writer) == (True, "single", MOON)
    assert sorted(members.cancelled) == [(STAR, "answers"), (SUN, "answers")]
    assert verdict.unknown == 2


def test_stop_after_two_answers_uses_the_strongest() -> None:
    members = Members(after={(SUN, "answers"): 30.0})
    verdict = stopped(members, lambda shown: len(shown.answered) == 2)
    assert (verdict.stopped, verdict.form, verdict.writer, verdict.chairman) == (True, "member", MOON, "")


def test_stop_during_the_vote_uses_the_best_so_far() -> None:
    members = Members(
        ballots={MOON: [STAR, SUN]}, after={(SUN, "ranking"): NEVER, (STAR, "ranking"): NEVER, (MOON, "ranking"): 4.0}
    )
    verdict = stopped(members, lambda shown: shown.voted == (MOON,))
    assert (verdict.stopped, verdict.form, verdict.writer, verdict.early) == (True, "member", STAR, False)
    assert [member.voting for member in verdict.members] == ["stopped", "counted", "stopped"]
    assert verdict.seconds == 5.5
    assert len(members.cancelled) == 2


def test_stop_during_the_synthesis() -> None:
    members = Members(ballots={SUN: [MOON, STAR], STAR: [MOON, SUN], MOON: [SUN, STAR]})
    verdict = stopped(members, lambda shown: shown.stage == "synthesis")
    assert (verdict.stopped, verdict.form, verdict.writer) == (True, "member", MOON)
    assert (verdict.chairman, verdict.failure) == (SUN, Failure("stopped"))
    assert members.cancelled[-1] == (SUN, "synthesis")


def test_stop_before_the_start() -> None:
    async def story() -> tuple[Verdict, int]:
        run = CouncilRun(Members())
        run.stop.request()
        return await run.run(), len(run.members.calls)

    verdict, calls = run_instantly(story())
    assert (verdict.stopped, verdict.form, calls, verdict.calls) == (True, "none", 0, ())


def test_cancellation_is_not_a_stop_and_leaves_no_running_call() -> None:
    async def story() -> Members:
        members = Members(after={(model, "answers"): NEVER for model in (SUN, MOON, STAR)})
        work = asyncio.create_task(CouncilRun(members).run())
        asyncio.get_running_loop().call_later(5.0, work.cancel)
        with pytest.raises(asyncio.CancelledError):
            await work
        return members

    assert len(run_instantly(story()).cancelled) == 3
