"""Looking at a change before it is saved, the last changes, and taking one back."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.edits import MAX_UNDO, File, Proposal
from bot.admin.visits import Visit, own_path, signed_in
from bot.live_config import RELOAD_SECONDS

SAVED = "Saved. The bot uses it within {seconds:g} seconds."


async def changes(visit: Visit) -> Response:
    """The last changes."""
    edits = await asyncio.to_thread(visit.site.edits.log)
    return visit.page("changes.html", edits=edits, most=MAX_UNDO)


async def review(visit: Visit) -> Response:
    """What a proposal changes, with a button that saves it."""
    proposal = visit.site.edits.waiting(visit.request.path_params["proposal"])
    if proposal is None:
        return visit.redirect("/changes", "That change is no longer waiting. Make it again.")
    diffs = await asyncio.to_thread(visit.site.edits.diffs, proposal)
    return visit.page("review.html", proposal=proposal, diffs=diffs)


async def save(visit: Visit) -> Response:
    """Write a proposal."""
    proposal = visit.site.edits.waiting(visit.request.path_params["proposal"])
    if proposal is None:
        return visit.redirect("/changes", "That change is no longer waiting. Make it again.")
    await asyncio.to_thread(visit.site.edits.save, proposal)
    return visit.redirect(own_path(proposal.page), SAVED.format(seconds=RELOAD_SECONDS))


async def undo(visit: Visit) -> Response:
    """Propose to take a change back."""
    proposal = await asyncio.to_thread(visit.site.edits.undo, visit.field("edit"))
    return to_review(visit, proposal, "/changes")


def to_review(visit: Visit, proposal: Proposal | None, page: str) -> Response:
    """Go on to the review of a proposal; back to the page if nothing would change."""
    if proposal is None:
        return visit.redirect(page, "Nothing would change, so there is nothing to save.")
    return visit.redirect(f"/changes/{proposal.id}")


async def propose(
    visit: Visit, summary: str, texts: dict[File, str | None], page: str, digests: dict[File, str] | None = None
) -> Response:
    """Check a change of files that the form was made from, and go on to its review. The form has the files' digests in
    fields such as `digest_env`."""
    digests = digests or {file: visit.field(f"digest_{file}") for file in texts}
    proposal = await asyncio.to_thread(visit.site.edits.propose, summary, texts, digests, page)
    return to_review(visit, proposal, page)


ROUTES = (
    Route("/changes", signed_in(changes)),
    Route("/changes/undo", signed_in(undo), methods=["POST"]),
    Route("/changes/{proposal}", signed_in(review)),
    Route("/changes/{proposal}", signed_in(save), methods=["POST"]),
)
