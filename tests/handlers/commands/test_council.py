"""The texts of a council, its file of votes, and one council per person."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from handlers.council.offers import MAX_PENDING, Offers
from handlers.council.replies import about, estimate_line, progress, verdict_text
from handlers.council.sessions import Sessions
from handlers.council.votes import document_text
from handlers.languages import Say
from routing.council.ballots import Tally
from routing.council.costs import Estimate
from routing.council.seats import Seat
from routing.council.verdict import Failure, Member, Progress, Verdict
from routing.errors import Refused
from routing.types.llm import Usage
from routing.types.messages import ChatKey
from routing.types.usage import CallRecord
from tests.handlers.contexts import asked

SAY = Say("en")
RECKONED = Estimate(7, 180.0, Decimal("0.3987"), 0)
SUN, MOON, STAR = (
    Seat("openai/sun", "openai", "deep"),
    Seat("anthropic/moon", "anthropic", "deep"),
    Seat("gemini/star", "gemini", "coding"),
)
A = Member(SUN, "A", "sun says", None, "counted", ("B", "C"))
B = Member(MOON, "B", "moon says", None, "abstained")
C = Member(STAR, "C", "star says", None, "unneeded")
PAID = CallRecord("deep", SUN.model, Usage(1, 2, cost=Decimal("0.0312")), 1.0)
ENDED = CallRecord("deep", SUN.model, None, 1.0)
WHOLE = Verdict(
    form="synthesis",
    answer="All agree.",
    writer=SUN.model,
    members=(A, B, C),
    seconds=41.6,
    tally=Tally({"B": Fraction(1), "C": Fraction(0)}, (("B",), ("C",))),
    early=True,
    chairman=SUN.model,
    calls=(PAID, ENDED),
)


def test_a_complete_verdict() -> None:
    assert verdict_text(SAY, WHOLE) == (
        "All agree.\n\n"
        "🏛 3 of 3 answered. `openai/sun` wrote the final answer.  \n"
        "🗳 Ranked first by the others: `anthropic/moon`. Voting ended early because the result was certain.  \n"
        "`$0.0312 (one unpriced) · 2 calls · 42 s`"
    )


def test_dissent_names_the_models_behind_the_labels() -> None:
    parts = verdict_text(SAY, replace(WHOLE, dissent="B doubts it.")).split("\n\n")
    assert parts[1] == "**Dissent** (A `openai/sun`, B `anthropic/moon`, C `gemini/star`): B doubts it."


def test_a_tie_names_all_leaders() -> None:
    tied = Tally({"A": Fraction(1, 2), "B": Fraction(1, 2)}, (("A", "B"),))
    assert "🗳 Tied at the top: `openai/sun`, `anthropic/moon`.  \n" in verdict_text(
        SAY, replace(WHOLE, tally=tied, early=False)
    )


LATE = Member(STAR, failure=Failure("late"))
BROKEN = Member(MOON, failure=Failure("failed", "it is down"))


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (
            replace(WHOLE, members=(A, B, LATE)),
            "🏛 2 of 3 answered; `gemini/star` timed out. `openai/sun` wrote the final answer.",
        ),
        (
            replace(WHOLE, form="single", tally=Tally(), members=(A, BROKEN, LATE)),
            "🏛 1 of 3 answered; `anthropic/moon` failed (it is down); `gemini/star` timed out. "
            "This is the answer of `openai/sun` alone; no other model checked it.",
        ),
        (
            replace(WHOLE, form="none", answer="", tally=Tally(), members=(BROKEN, LATE)),
            "⚠️ No member of the council answered: `anthropic/moon` failed (it is down); `gemini/star` timed out.",
        ),
        (
            replace(WHOLE, form="member", writer=MOON.model, failure=Failure("failed", "it is down")),
            "🏛 3 of 3 answered. No final answer was written (`openai/sun`: it is down); "
            "this is the answer of `anthropic/moon`.",
        ),
        (
            replace(WHOLE, form="member", stopped=True, failure=Failure("stopped")),
            "⏹ Stopped. 🏛 3 of 3 answered. No final answer was written; this is the answer of `openai/sun`.",
        ),
    ],
)
def test_how_the_answer_was_made(verdict: Verdict, line: str) -> None:
    assert line in [each.strip() for each in verdict_text(SAY, verdict).splitlines()]


def test_an_unknown_price_is_not_shown_as_free() -> None:
    assert verdict_text(SAY, replace(WHOLE, calls=(ENDED, ENDED))).endswith("`price unknown · 2 calls · 42 s`")
    assert about(SAY, replace(RECKONED, unknown=7, cost=Decimal(0))) == "price unknown"
    assert about(SAY, replace(RECKONED, unknown=2)) == "about $0.40 (2 unpriced)"


def test_the_cost_estimate() -> None:
    assert estimate_line(SAY, RECKONED) == "about $0.40 · 7 calls · at most 180 s"
    assert about(SAY, replace(RECKONED, cost=Decimal("0.012345"))) == "about $0.0123"


def test_the_progress() -> None:
    two = ("openai/sun", "anthropic/moon")
    begun = progress(SAY, Progress("answers", 3, two, 3, (), ("gemini/star",)), RECKONED)
    assert begun.startswith("🏛 Council: answers 2/3 · ranking 0/3 …  \nabout $0.40")
    assert begun.endswith("⏳ `gemini/star`")
    ending = progress(SAY, Progress("synthesis", 2, two, 0, (), two[:1]), RECKONED)
    assert ending.startswith("🏛 Council: answers 2/2 · synthesis …")


def test_the_votes_as_a_file() -> None:
    text = document_text(SAY, "Tabs?", replace(WHOLE, members=(A, B, LATE)))
    assert text.startswith("# Council\n\n```\nTabs?\n```\n\n## Votes\n\n- A · `openai/sun`: ranks B > C\n")
    assert "\n- B · `anthropic/moon`: abstains · 1.00 points\n- `gemini/star`: timed out\n\n" in text
    assert text.endswith("## B · `anthropic/moon`\n\n```\nmoon says\n```\n")


@pytest.mark.parametrize("sent", [90.0, 90.0 - 86_400, 90.0 + 86_400], ids=["same clock", "behind", "ahead"])
def test_one_council_at_a_time_per_person(sent: float) -> None:
    """The council takes 10 s whatever the system clock says."""
    now = 100.0
    sessions = Sessions(lambda: now)
    with sessions.enter(1, sent), pytest.raises(Refused, match="already have a council"), sessions.enter(1):
        raise AssertionError
    with sessions.enter(1, sent):
        now += 10
    with pytest.raises(Refused, match="still running when you sent this"), sessions.enter(1, sent + 8.5):
        raise AssertionError
    with sessions.enter(2, sent + 8.5):
        pass
    with sessions.enter(1, sent + 9):
        pass
    with sessions.enter(1):
        pass


def test_a_failed_council_frees_its_slot() -> None:
    sessions = Sessions(lambda: 0.0)
    with pytest.raises(ZeroDivisionError), sessions.enter(1):
        raise ZeroDivisionError
    with sessions.enter(1):
        pass


def test_stored_offers_belong_to_a_person_in_a_chat_and_expire() -> None:
    offers, ask = Offers(), asked("/council x")
    offers.pending(ask).question = "mine"
    elsewhere = [
        replace(ask, message=replace(ask.message, chat=ChatKey("console", str(number)))) for number in range(2, 400)
    ]
    assert offers.pending(elsewhere[0]).question == ""
    assert offers.pending(ask).question == "mine"
    for each in elsewhere[:MAX_PENDING]:
        offers.pending(each)
    assert offers.pending(ask).question == ""
