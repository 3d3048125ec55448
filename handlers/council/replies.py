"""Renders a council's estimate, progress and result."""

from __future__ import annotations

from collections.abc import Iterable

from handlers.languages import Say
from handlers.replies.costs import cost, dollars, unpriced
from handlers.replies.footer import PASSED
from routing.council.costs import Estimate
from routing.council.verdict import Cause, Member, Progress, Verdict, Voting
from routing.policy.models import Models
from routing.types.decisions import SkippedModel
from routing.types.model_names import provider_of

FAILED: dict[Cause, str] = {
    "late": "timed out",
    "line": "waited too long in the queue",
    "failed": "failed",
    "empty": "wrote nothing",
    "stopped": "was stopped",
}
VOTED: dict[Voting, str] = {
    "none": "was not asked for a ranking",
    "counted": "ranks {ranking}",
    "abstained": "abstains",
    "late": "timed out",
    "line": "waited too long in the queue",
    "failed": "failed",
    "stopped": "was stopped",
    "unneeded": "was not needed: the result was already certain",
}


def names(models: Iterable[str]) -> str:
    """`a/x`, `b/y`."""
    return ", ".join(f"`{model}`" for model in models)


def skipped_members(say: Say, models: Models, skipped: Iterable[SkippedModel]) -> str:
    """The unavailable members, each with the reason."""
    notes = []
    for each in skipped:
        variable = models.config.profile(provider_of(each.model)).variable
        notes.append(f"`{each.model}` {say(PASSED[each.why], variable=variable, reason=each.reason)}")
    return "; ".join(notes)


def about(say: Say, reckoned: Estimate) -> str:
    """The estimated cost. Models of unknown price are mentioned."""
    if reckoned.unknown == reckoned.calls:
        return say("price unknown")
    known = say("about {dollars}", dollars=dollars(reckoned.cost))
    return known + unpriced(say, reckoned.unknown)


def estimate_line(say: Say, reckoned: Estimate) -> str:
    """The estimate in one line."""
    words = "{cost} · {calls} calls · at most {seconds:.0f} s"
    return say(words, cost=about(say, reckoned), calls=reckoned.calls, seconds=reckoned.seconds)


def progress(say: Say, now: Progress, reckoned: Estimate) -> str:
    """The progress, the estimate, and the members that are still working."""
    parts = [say("answers {answered}/{asked}", answered=len(now.answered), asked=now.asked)]
    if now.voters:
        parts.append(say("ranking {voted}/{voters}", voted=len(now.voted), voters=now.voters))
    if now.stage == "synthesis":
        parts.append(say("synthesis"))
    lines = [say("🏛 Council: {parts} …", parts=" · ".join(parts)), estimate_line(say, reckoned)]
    if now.waiting:
        lines.append(f"⏳ {names(now.waiting)}")
    return "  \n".join(lines)


def verdict_text(say: Say, verdict: Verdict) -> str:
    """The answer, how it was reached, the dissent, the vote and the cost."""
    lines = [_came_about(say, verdict), _vote(say, verdict), _cost(say, verdict)]
    parts = [verdict.answer, _dissent(say, verdict), "  \n".join(line for line in lines if line)]
    return "\n\n".join(part for part in parts if part)


def failure(say: Say, member: Member) -> str:
    """Why a member did not answer."""
    assert member.failure is not None
    words = say(FAILED[member.failure.cause])
    return f"{words} ({say(member.failure.reason)})" if member.failure.reason else words


def voting(say: Say, member: Member) -> str:
    """How a member ranked the others."""
    return say(VOTED[member.voting], ranking=" > ".join(member.ranking))


def _came_about(say: Say, verdict: Verdict) -> str:
    missing = "; ".join(f"`{each.model}` {failure(say, each)}" for each in verdict.members if each.failure)
    stopped = [say("⏹ Stopped.")] if verdict.stopped else []
    if verdict.form == "none":
        return " ".join([*stopped, say("⚠️ No member of the council answered: {missing}.", missing=missing)])
    words = "🏛 {answered} of {asked} answered; {missing}." if missing else "🏛 {answered} of {asked} answered."
    count = say(words, answered=len(verdict.answered), asked=len(verdict.members), missing=missing)
    return " ".join([*stopped, count, _writer(say, verdict)])


def _writer(say: Say, verdict: Verdict) -> str:
    model = f"`{verdict.writer}`"
    if verdict.form == "synthesis":
        return say("{model} wrote the final answer.", model=model)
    if verdict.form == "single":
        return say("This is the answer of {model} alone; no other model checked it.", model=model)
    if verdict.failure is None or verdict.stopped:
        return say("No final answer was written; this is the answer of {model}.", model=model)
    why = verdict.failure.reason or say(FAILED[verdict.failure.cause])
    words = "No final answer was written ({chairman}: {why}); this is the answer of {model}."
    return say(words, chairman=f"`{verdict.chairman}`", why=why, model=model)


def _dissent(say: Say, verdict: Verdict) -> str:
    """The dissent, with a key to the labels it uses."""
    if not verdict.dissent:
        return ""
    key = ", ".join(f"{each.label} `{each.model}`" for each in verdict.answered)
    return f"**{say('Dissent')}** ({key}): {verdict.dissent}"


def _vote(say: Say, verdict: Verdict) -> str:
    """The winner, and whether the vote ended early."""
    places = verdict.tally.places
    if not places:
        return ""
    by_label = {each.label: each.model for each in verdict.answered}
    first = names(by_label[label] for label in places[0])
    words = "🗳 Tied at the top: {models}." if len(places[0]) > 1 else "🗳 Ranked first by the others: {models}."
    early = f" {say('Voting ended early because the result was certain.')}" if verdict.early else ""
    return say(words, models=first) + early


def _cost(say: Say, verdict: Verdict) -> str:
    calls = len(verdict.calls)
    paid = cost(say, verdict.cost, verdict.unknown, nothing_known=0 < verdict.unknown == calls)
    return f"`{say('{cost} · {calls} calls · {seconds:.0f} s', cost=paid, calls=calls, seconds=verdict.seconds)}`"
