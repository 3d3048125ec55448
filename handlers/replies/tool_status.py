"""The part of /status about tools."""

from __future__ import annotations

from handlers.context import CommandContext
from handlers.dependencies import Needs
from handlers.replies.tool_list import ToolList, plain
from handlers.replies.tool_offer import ToolOffers, compared
from handlers.replies.tool_policy import ToolPolicy
from handlers.tools.dependencies import Stock
from routing.ports import Embedder


def tool_status(needs: Needs) -> ToolStatus:
    stock = needs.stock
    offers = ToolOffers(needs.router, stock.toolbox, stock.selector, needs.preferences)
    policy = ToolPolicy(stock.toolbox, needs.allowances, needs.history)
    return ToolStatus(stock, offers, ToolList(stock, needs.clock), stock.embedder, policy)


class ToolStatus:
    """Lines about the last tool selection, the matching method, unusable tools and, for admins, faults."""

    def __init__(
        self, stock: Stock, offers: ToolOffers, listed: ToolList, embedder: Embedder | None, policy: ToolPolicy
    ) -> None:
        self._policy = policy
        self._stock = stock
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
        off = await self._stock.toolbox.off(ask.person)
        lines = [await self.shown(ask, conversation_id), compared(ask, self._stock.selector, self._embedder)]
        lines += [
            ask.say("• {name} is off: {reason}", name=f"`{name}`", reason=plain(ask.say(why)))
            for name, why in off.items()
        ]
        return [*lines, *await self._policy.lines(ask), *self.faults(ask)]
