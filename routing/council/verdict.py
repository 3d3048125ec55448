"""The progress and the result of a council."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from routing.council.ballots import Ranking, Tally
from routing.council.seats import Seat
from routing.types.usage import CallRecord, known_cost

AnswerSource = Literal["synthesis", "member", "single", "none"]
"""The source of the answer: the chair; one of several members, because the chair failed; the only member that
answered; none."""
Stage = Literal["answers", "ranking", "synthesis"]
Cause = Literal["late", "line", "failed", "empty", "stopped"]
"""`line`: the time was over before the provider had a free slot, so the model was never called."""
Voting = Literal["none", "counted", "abstained", "late", "line", "failed", "stopped", "unneeded"]
"""`none`: not asked to vote. `unneeded`: the leader was certain before this ballot arrived."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed; `reason` is a short clause without secrets, or empty."""

    cause: Cause
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a council, by model names: "answers 2/3 · ranking 0/3" is `answered` of `asked`, `voted` of
    `voters` (0: no vote). `waiting` are the models that haven't responded yet."""

    stage: Stage
    asked: int
    answered: tuple[str, ...]
    voters: int
    voted: tuple[str, ...]
    waiting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A member's result: an answer, with a `label` once all have answered, or a `failure`. `ranking` lists labels, best
    first."""

    seat: Seat
    label: str = ""
    answer: str = ""
    failure: Failure | None = None
    voting: Voting = "none"
    ranking: Ranking = ()

    @property
    def model(self) -> str:
        return self.seat.model


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a council. `writer` is the model that wrote `answer`; `dissent` is the chair's text about dissent,
    by labels. `early`: the vote ended before the last ballot. `failure` is why the chair wrote nothing. `members` are
    in seat order; `calls` are all paid calls; `seconds` is the total time."""

    form: AnswerSource
    answer: str
    writer: str
    members: tuple[Member, ...]
    seconds: float
    dissent: str = ""
    tally: Tally = field(default_factory=Tally)
    early: bool = False
    stopped: bool = False
    chairman: str = ""
    failure: Failure | None = None
    calls: tuple[CallRecord, ...] = ()

    @property
    def answered(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.answer)

    @property
    def leader(self) -> Member | None:
        """The member ranked first alone."""
        return next((member for member in self.answered if member.label == self.tally.leader), None)

    @property
    def cost(self) -> Decimal:
        """The sum of the known costs, in US dollars."""
        return known_cost(self.calls)

    @property
    def unknown(self) -> int:
        """The number of calls of unknown cost, including cancelled ones."""
        return sum(each.usage is None or each.usage.cost is None for each in self.calls)
