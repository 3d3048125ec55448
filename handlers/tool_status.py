"""What /status says of the tools."""

from __future__ import annotations

from handlers.asking import Ask
from handlers.needs import Needs
from handlers.tool_list import ToolList, plain
from handlers.tool_offer import ToolOffers, compared
from handlers.tool_policy import ToolPolicy
from handlers.tools.needs import Stock
from routing.embedding.embedder import Embedder

MOST_OFF = 5


def tool_status(needs: Needs) -> ToolStatus:
    """With its parts."""
    stock = needs.stock
    offers = ToolOffers(needs.router, stock.toolbox, stock.chooser, needs.preferences)
    policy = ToolPolicy(stock.toolbox, needs.allowances, needs.history)
    return ToolStatus(stock, offers, ToolList(stock, needs.clock), stock.embedder, policy)


class ToolStatus:
    """A few lines: the last decision, what compares, what can't be used, and for admins that there are faults."""

    def __init__(
        self, stock: Stock, offers: ToolOffers, listed: ToolList, embedder: Embedder | None, policy: ToolPolicy
    ) -> None:
        self._policy = policy
        self._stock = stock
        self._offers = offers
        self._list = listed
        self._embedder = embedder

    async def lines(self, ask: Ask, conversation_id: int, full: bool) -> list[str]:
        """For one conversation; `full` names every tool that can't be used, and those that ask before they run."""
        off = list((await self._stock.toolbox.off(ask.person)).items())
        told = off if full else off[:MOST_OFF]
        lines = [await self._offers.last(ask, conversation_id), compared(ask, self._stock.chooser, self._embedder)]
        lines += [ask.say("• {name} is off: {reason}", name=f"`{name}`", reason=plain(why)) for name, why in told]
        if len(told) < len(off):
            lines.append(ask.say("• {n} more tools are off; /tools says why.", n=len(off) - len(told)))
        lines += await self._policy.lines(ask) if full else []
        return [*lines, *self._list.counted(ask)]
