"""Toolkits, connected accounts (only their number) and MCP servers."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.formatting import sentence
from bot.admin.page_context import PageContext, signed_in
from handlers.access.roles import NO_PERSON
from routing.types.people import Person
from routing.types.toolkits import Toolkit


@dataclass(frozen=True, slots=True)
class ListedToolkit:
    """A toolkit; `usable` of its tools can be called by an owner now, `missing` says why others can't."""

    toolkit: Toolkit
    usable: int
    missing: tuple[tuple[str, str], ...]


async def tools(context: PageContext) -> Response:
    """Everything that models can call."""
    tooling, owner = context.app.engine.tooling, Person(NO_PERSON, "owner", "")
    usable = {card.name for toolkit in await tooling.toolbox.offered(owner) for card in toolkit.tools}
    off = await tooling.toolbox.off(owner)
    listed = [
        ListedToolkit(
            each,
            sum(card.name in usable for card in each.tools),
            tuple((card.name, sentence(off[card.name])) for card in each.tools if card.name in off),
        )
        for each in tooling.toolbox.toolkits()
    ]
    found = tooling.toolkits.found
    files = [(name, sentence(reason)) for name, reason in found.broken.items()]
    files += [(name, sentence(words)) for name, each in found.manifests.items() for words in each.warnings]
    return context.render(
        "tools.html",
        toolkits=listed,
        servers=tooling.mcp.states(),
        problems=[sentence(each) for each in tooling.mcp.problems()],
        files=files,
        left_out=[sentence(each) for each in tooling.toolbox.left_out()],
        accounts=await context.app.messaging.stores.directory.connected(),
        matching=sentence(tooling.selector.fallback_reason),
    )


ROUTES = (Route("/tools", signed_in(tools)),)
