"""/new: starts a new conversation."""

from __future__ import annotations

from handlers.access.roles import check_shared
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from routing.ports import HistoryStore

SPEC = CommandSpec("new", "Start a new conversation; the old one stays in /history", ("/new",), changes=True)


def build(dependencies: CommandDependencies) -> Handler:
    return NewCommand(dependencies.history)


class NewCommand:
    """Keeps the tier and the models. Questions already asked are answered in the old conversation."""

    def __init__(self, history: HistoryStore) -> None:
        self._history = history

    async def __call__(self, ask: CommandContext) -> Reply:
        check_shared(ask.person, ask.message)
        await self._history.begin(ask.message.chat)
        return Reply(ask.say("🆕 A new conversation. /history has the earlier ones."))
