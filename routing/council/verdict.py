"""What a council did and what came of it: frozen, slotted, without I/O, and without words for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from routing.council.ballots import Ranking, Tally
from routing.council.seats import Seat
from routing.types.usage import CallRecord, known_cost

Form = Literal["synthesis", "member", "single", "none"]
"""What the answer is: the chairman's; that of one member for several, because the chairman's did not come; that of the
only member that answered; nothing."""
Stage = Literal["answers", "ranking", "synthesis"]
Cause = Literal["late", "line", "failed", "empty", "stopped"]
"""`line`: its seconds were over before its provider had a place for it, so it was never asked."""
Voting = Literal["none", "counted", "abstained", "late", "line", "failed", "stopped", "unneeded"]
"""`none`: was not asked for a ranking. `unneeded`: the leader was certain before this ballot came."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call brought nothing; `reason` is a short clause of the ModelError, free of secrets, or empty."""

    cause: Cause
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a council is, by the names of the models: "answers 2/3 · ranking 0/3" is `answered` of `asked`, `voted`
    of `voters` (0: no vote is held). `waiting` are those whom the stage waits for."""

    stage: Stage
    asked: int
    answered: tuple[str, ...]
    voters: int
    voted: tuple[str, ...]
    waiting: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A member and what it gave: an answer, with a `label` from the end of that stage on, or a `failure`. `ranking` are
    labels, the best first."""

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
    """What is shown of a council. `writer` is the model whose words `answer` are; `dissent` is the chairman's, by
    labels. `early`: the vote ended before the last ballot. `trouble` is why the chairman wrote nothing. `members` are
    in the order of their seats, `calls` for the books. `seconds` are those of all of it."""

    form: Form
    answer: str
    writer: str
    members: tuple[Member, ...]
    seconds: float
    dissent: str = ""
    tally: Tally = field(default_factory=Tally)
    early: bool = False
    stopped: bool = False
    chairman: str = ""
    trouble: Failure | None = None
    calls: tuple[CallRecord, ...] = ()

    @property
    def answered(self) -> tuple[Member, ...]:
        """ "2 of 3 answered": of `members`."""
        return tuple(member for member in self.members if member.answer)

    @property
    def late(self) -> tuple[Member, ...]:
        """ "z timed out"."""
        return tuple(member for member in self.members if member.failure and member.failure.cause == "late")

    @property
    def leader(self) -> Member | None:
        """Whose answer the members rank first, alone."""
        return next((member for member in self.answered if member.label == self.tally.leader), None)

    @property
    def cost(self) -> Decimal:
        """US dollars, of the calls whose price is known."""
        return known_cost(self.calls)

    @property
    def unknown(self) -> int:
        """How many calls have no known price, those among them that were ended before they were counted."""
        return sum(each.usage is None or each.usage.cost is None for each in self.calls)
