"""/new: a fresh conversation."""

from __future__ import annotations

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.needs import Needs
from handlers.running import RunningTurns
from routing.errors import Refused
from routing.records import HistoryStore

SPEC = CommandSpec("new", "Begin a new conversation; the old one stays in /history", ("/new",))


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return NewCommand(needs.history, needs.running)


class NewCommand:
    """The tier and the models stay as they are."""

    def __init__(self, history: HistoryStore, running: RunningTurns) -> None:
        self._history = history
        self._running = running

    async def __call__(self, ask: Ask) -> Reply:
        if ask.message.chat in self._running:
            raise Refused("An answer is under way in this conversation. /stop ends it; then /new.")
        await self._history.begin(ask.message.chat)
        return Reply(ask.say("🆕 A new conversation. /history has the earlier ones."))
