"""Looking at a change before it is saved, the last changes, and taking one back."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.edits import MAX_UNDO, File, Proposal
from bot.admin.forms import own_path
from bot.admin.page_context import PageContext, signed_in
from bot.live_config import RELOAD_SECONDS
from bot.ops import env_file
from routing.errors import ConfigError

SAVED = "Saved. The bot uses it within {seconds:g} seconds."
GONE = "That change is no longer waiting. Make it again."
FIXED = "{name} is set in the environment of the bot's process. Change it there. Nothing was changed."


async def changes(context: PageContext) -> Response:
    """The last changes."""
    edits = await asyncio.to_thread(context.site.edits.log)
    return context.render("changes.html", edits=edits, most=MAX_UNDO)


async def review(context: PageContext) -> Response:
    """What a proposal changes, with a button that saves it."""
    proposal = _waiting(context)
    if proposal is None:
        return context.redirect("/changes", GONE)
    diffs = await asyncio.to_thread(context.site.edits.diffs, proposal)
    return context.render("review.html", proposal=proposal, diffs=diffs)


async def save(context: PageContext) -> Response:
    """Write a proposal."""
    proposal = _waiting(context)
    if proposal is None:
        return context.redirect("/changes", GONE)
    await asyncio.to_thread(context.site.edits.save, proposal)
    return context.redirect(own_path(proposal.page), SAVED.format(seconds=RELOAD_SECONDS))


async def undo(context: PageContext) -> Response:
    """Propose to take a change back."""
    proposal = await asyncio.to_thread(context.site.edits.undo, context.field("edit"))
    return to_review(context, proposal, "/changes")


def to_review(context: PageContext, proposal: Proposal | None, page: str) -> Response:
    """Go on to the review of a proposal; back to the page if nothing would change."""
    if proposal is None:
        return context.redirect(page, "Nothing would change, so there is nothing to save.")
    return context.redirect(f"/changes/{proposal.id}")


async def propose(context: PageContext, summary: str, texts: dict[File, str | None], page: str) -> Response:
    """Check a change of files that the form was made from, and go on to its review. The form has the files' digests in
    fields such as `digest_env`."""
    digests = {file: context.field(f"digest_{file}") for file in texts}
    proposal = await asyncio.to_thread(context.site.edits.propose, summary, texts, digests, page)
    return to_review(context, proposal, page)


async def env_change(context: PageContext, name: str, value: str | None) -> str:
    """The text of `.env` with another value of a variable, or without it (None). Raises ConfigError if the variable is
    set in the process's environment, which `.env` can't change."""
    if name in context.site.services.environment.given:
        raise ConfigError(FIXED, name=name)
    before = await asyncio.to_thread(context.site.edits.read, "env")
    return env_file.changed(before.text or "", {name: value})


def _waiting(context: PageContext) -> Proposal | None:
    return context.site.edits.waiting(context.request.path_params["proposal"])


ROUTES = (
    Route("/changes", signed_in(changes)),
    Route("/changes/undo", signed_in(undo), methods=["POST"]),
    Route("/changes/{proposal}", signed_in(review)),
    Route("/changes/{proposal}", signed_in(save), methods=["POST"]),
)
