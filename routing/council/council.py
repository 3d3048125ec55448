"""Runs a council: concurrent answers, a vote, a synthesis. Limited in time; /stop ends it at any point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random

from routing.council.ballots import Tally, certain_winner, count, read_ballot
from routing.council.prompts import for_chairman, for_member, for_voter, split_dissent, unused_delimiter
from routing.council.seats import Seat, strongest
from routing.council.verdict import AnswerSource, Failure, Member, Progress, Stage, Verdict
from routing.errors import ModelError
from routing.ports import AskModel, Clock
from routing.text import storable
from routing.types.llm import ChatMessage
from routing.types.stop import Stop, Stopped

ANSWER_SECONDS = 60.0
"""Time limit of each member's answer."""
SYNTHESIS_AT = 150.0
"""Seconds after the start when missing votes are dropped and the chair begins to write."""
ALL_SECONDS = 180.0
MIN_FOR_VOTE = 3
"""With two members each could only rank the other one."""
LABELS = "ABCDEFGH"
MIN_SECONDS = 2.0
"""No call starts with less time left."""


class Council:
    """Asks two or more different models, the strongest first, lets them rank each other and lets the chair write.
    `show` gets the progress and returns at once."""

    def __init__(
        self,
        question: str,
        seats: Sequence[Seat],
        ask: AskModel,
        clock: Clock,
        random: Random,
        show: Callable[[Progress], None],
    ) -> None:
        self._question, self._seats = question, seats
        self._ask_model = ask
        self._clock, self._random, self._show = clock, random, show
        self._began = clock()
        self._members = {seat.model: Member(seat, failure=Failure("stopped")) for seat in seats}
        self._voters = len(seats) if len(seats) >= MIN_FOR_VOTE else 0
        self._mark = ""
        self._tally = Tally()
        self._early = False
        self._chairman = self._answer = self._dissent = ""
        self._failure: Failure | None = None

    async def run(self, stop: Stop) -> Verdict:
        """Always returns a verdict, also if it is stopped."""
        try:
            with stop.guard():
                await self._deliberate()
        except Stopped:
            return self._verdict(stopped=True)
        return self._verdict(stopped=False)

    async def _deliberate(self) -> None:
        answers = {seat.model: self._ask_member(seat) for seat in self._seats}
        await run_concurrently(answers, partial(self._tell, "answers"))
        answered = self._answered()
        if len(answered) < MIN_FOR_VOTE:
            self._voters = 0
        if len(answered) > 1:
            self._label(answered)
            if self._voters:
                await self._vote()
            await self._conclude()

    def _verdict(self, stopped: bool) -> Verdict:
        """The current verdict; if several members answered and there is no synthesis, the best answer."""
        answered = self._answered()
        writer, answer, form = self._chairman, self._answer, _form(len(answered), bool(self._answer))
        if answered and form != "synthesis":
            best = self._tally.places[0] if self._tally.places else ()
            member = next((each for each in answered if each.label in best), answered[0])
            writer, answer = member.model, member.answer
        return Verdict(
            form=form,
            answer=answer,
            writer=writer,
            members=tuple(self._members.values()),
            seconds=self._clock() - self._began,
            dissent=self._dissent,
            tally=self._tally,
            early=self._early,
            stopped=stopped,
            chairman=self._chairman,
            failure=self._failure,
            calls=tuple(self._ask_model.paid_calls),
        )

    async def _ask_member(self, seat: Seat) -> None:
        got = await self._ask(seat, for_member(self._question), ANSWER_SECONDS)
        given = Member(seat, failure=got) if isinstance(got, Failure) else Member(seat, answer=got)
        self._members[seat.model] = given

    def _label(self, answered: Sequence[Member]) -> None:
        """Assign labels that don't reveal the seats, and a delimiter chosen after all answers were written."""
        order = list(answered)
        self._random.shuffle(order)
        for label, member in zip(LABELS, order, strict=False):
            self._members[member.model] = replace(member, label=label)
        texts = (self._question, *(member.answer for member in answered))
        self._mark = unused_delimiter(lambda: f"{self._random.getrandbits(64):016x}", texts)

    async def _vote(self) -> None:
        voters = [replace(member, voting="stopped") for member in self._answered()]
        self._members |= {voter.model: voter for voter in voters}
        ballots = {voter.model: self._rank(voter) for voter in voters}
        waiting = await run_concurrently(ballots, partial(self._tell, "ranking"), self._decided)
        self._early = bool(waiting)
        self._members |= {model: replace(self._members[model], voting="unneeded") for model in waiting}

    async def _rank(self, voter: Member) -> None:
        others = [(each.label, each.answer) for each in self._answered() if each.label != voter.label]
        self._random.shuffle(others)
        messages = for_voter(self._question, dict(others), self._mark)
        got = await self._ask(voter.seat, messages, SYNTHESIS_AT - self._elapsed())
        if isinstance(got, Failure):
            voted = replace(voter, voting="abstained" if got.cause == "empty" else got.cause)
        else:
            ranking = read_ballot(got, voter.label, self._answers())
            voted = replace(voter, voting="counted" if ranking else "abstained", ranking=ranking)
        self._members[voter.model] = voted
        self._tally = count(self._answers(), self._votes())

    def _decided(self, waiting: Sequence[str]) -> bool:
        """Whether the missing ballots can no longer change the leader."""
        left = [self._members[model].label for model in waiting]
        return certain_winner(self._answers(), self._votes(), left) is not None

    async def _conclude(self) -> None:
        """Let the strongest member that answered write; one that just failed would fail again."""
        chair = strongest([member.seat for member in self._answered()])
        self._chairman, self._failure = chair.model, Failure("stopped")
        self._tell("synthesis", (chair.model,))
        messages = for_chairman(self._question, self._answers(), self._tally.scores, self._mark)
        got = await self._ask(chair, messages, ALL_SECONDS - self._elapsed())
        if isinstance(got, Failure):
            self._failure = got
            return
        self._answer, self._dissent = split_dissent(got, self._mark)
        self._failure = None if self._answer else Failure("empty")

    async def _ask(self, seat: Seat, messages: tuple[ChatMessage, ...], seconds: float) -> str | Failure:
        """A model's answer, or why there is none."""
        if seconds < MIN_SECONDS:
            return Failure("late")
        began, before = self._clock(), self._calls(seat)
        try:
            async with asyncio.timeout(seconds):
                text = await self._ask_model(seat.model, seat.tier, messages, seconds)
        except TimeoutError:
            return Failure("late" if self._calls(seat) > before else "line")
        except ModelError as error:
            return Failure("late" if self._clock() - began >= seconds else "failed", error.reason)
        return storable(text).strip() or Failure("empty")

    def _calls(self, seat: Seat) -> int:
        """The number of this seat's calls that reached the provider."""
        return sum(call.model == seat.model for call in self._ask_model.paid_calls)

    def _tell(self, stage: Stage, waiting: tuple[str, ...]) -> None:
        answered = tuple(member.model for member in self._answered())
        voted = tuple(each.model for each in self._members.values() if each.voting in ("counted", "abstained"))
        self._show(Progress(stage, len(self._seats), answered, self._voters, voted, waiting))

    def _elapsed(self) -> float:
        return self._clock() - self._began

    def _answered(self) -> list[Member]:
        return [member for member in self._members.values() if member.answer]

    def _answers(self) -> dict[str, str]:
        return {each.label: each.answer for each in sorted(self._answered(), key=lambda each: each.label)}

    def _votes(self) -> dict[str, tuple[str, ...]]:
        return {each.label: each.ranking for each in self._members.values() if each.ranking}


def _form(answers: int, concluded: bool) -> AnswerSource:
    if concluded:
        return "synthesis"
    return "member" if answers > 1 else "single" if answers else "none"


async def run_concurrently(
    work: Mapping[str, Coroutine[None, None, None]],
    tell: Callable[[tuple[str, ...]], None],
    enough: Callable[[Sequence[str]], bool] = lambda waiting: False,
) -> tuple[str, ...]:
    """Run all named tasks concurrently. `tell` gets the names still running; once they are `enough`, the rest is
    cancelled and its names are returned."""
    names = {asyncio.create_task(each): name for name, each in work.items()}
    waiting = set(names)
    try:
        tell(tuple(names.values()))
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            left = tuple(name for task, name in names.items() if task in waiting)
            tell(left)
            if left and enough(left):
                return left
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*names, return_exceptions=True)
    return ()
