"""/new: a fresh conversation."""

from __future__ import annotations

from handlers.access.roles import check_shared
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import Needs
from routing.ports import HistoryStore

SPEC = CommandSpec("new", "Start a new conversation; the old one stays in /history", ("/new",), changes=True)


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return NewCommand(needs.history)


class NewCommand:
    """The tier and the models stay as they are. Earlier questions are answered where they were asked."""

    def __init__(self, history: HistoryStore) -> None:
        self._history = history

    async def __call__(self, ask: CommandContext) -> Reply:
        check_shared(ask.person, ask.message)
        await self._history.begin(ask.message.chat)
        return Reply(ask.say("🆕 A new conversation. /history has the earlier ones."))
