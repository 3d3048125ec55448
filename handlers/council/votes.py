"""The answers and ballots of a council as a Markdown document."""

from __future__ import annotations

from handlers.council.replies import failure, voting
from handlers.languages import Say
from handlers.replies.fences import fenced
from routing.council.verdict import Member, Verdict


def document_text(say: Say, question: str, verdict: Verdict) -> str:
    """The ballots by label, then each answer. Answers are fenced, so their formatting can't affect the rest."""
    parts = [f"# {say('Council')}", fenced(question), f"## {say('Votes')}", _ballots(say, verdict)]
    for member in verdict.answered:
        parts += [f"## {_title(member)}", fenced(member.answer)]
    return "\n\n".join(parts) + "\n"


def _ballots(say: Say, verdict: Verdict) -> str:
    lines = []
    for member in verdict.members:
        if member.failure is not None:
            lines.append(f"- {_title(member)}: {failure(say, member)}")
            continue
        score = verdict.tally.scores.get(member.label)
        points = f" · {say('{score:.2f} points', score=float(score))}" if score is not None else ""
        lines.append(f"- {_title(member)}: {voting(say, member)}{points}")
    return "\n".join(lines)


def _title(member: Member) -> str:
    return f"{member.label} · `{member.model}`" if member.label else f"`{member.model}`"
