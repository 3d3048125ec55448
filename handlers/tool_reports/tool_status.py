"""The part of /status about tools."""

from __future__ import annotations

from handlers.context import CommandContext
from handlers.dependencies import CommandDependencies
from handlers.tool_reports.tool_list import ToolList, plain
from handlers.tool_reports.tool_offer import ToolOffers, compared
from handlers.tool_reports.tool_policy import ToolPolicy
from handlers.tools.dependencies import ToolServices
from routing.ports import Embedder


def tool_status(dependencies: CommandDependencies) -> ToolStatus:
    tooling = dependencies.tooling
    offers = ToolOffers(dependencies.router, tooling.toolbox, tooling.selector, dependencies.preferences)
    policy = ToolPolicy(tooling.toolbox, dependencies.allowances, dependencies.history)
    return ToolStatus(tooling, offers, ToolList(tooling, dependencies.clock), tooling.embedder, policy)


class ToolStatus:
    """Lines about the last tool selection, the matching method, unusable tools and, for admins, faults."""

    def __init__(
        self,
        tooling: ToolServices,
        offers: ToolOffers,
        listed: ToolList,
        embedder: Embedder | None,
        policy: ToolPolicy,
    ) -> None:
        self._policy = policy
        self._tooling = tooling
        self._offers = offers
        self._list = listed
        self._embedder = embedder

    async def shown(self, ask: CommandContext, conversation_id: int) -> str:
        """One line: how many tools the last call of a conversation was shown."""
        return await self._offers.last(ask, conversation_id)

    def faults(self, ask: CommandContext) -> list[str]:
        """Faults that an admin should fix."""
        return self._list.counted(ask)

    async def lines(self, ask: CommandContext, conversation_id: int) -> list[str]:
        """The full report for a conversation, with all unusable tools and those that need a confirmation."""
        off = await self._tooling.toolbox.off(ask.person)
        lines = [await self.shown(ask, conversation_id), compared(ask, self._tooling.selector, self._embedder)]
        lines += [
            ask.say("• {name} is off: {reason}", name=f"`{name}`", reason=plain(ask.say(why)))
            for name, why in off.items()
        ]
        return [*lines, *await self._policy.lines(ask), *self.faults(ask)]
