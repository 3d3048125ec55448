"""/compact: replaces older messages with a summary now."""

from __future__ import annotations

from handlers.access.roles import check_shared
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.replies.budget_limits import cost_of
from routing.errors import Refused
from routing.ports import HistoryStore
from routing.router import Router
from routing.types.history import TurnRecord
from routing.types.turns import Question

USUAL, MOST = 10, 100
SPEC = CommandSpec(
    "compact",
    "Summarise older messages; the newest 10 stay as they are",
    ("/compact", "/compact 20"),
    choices=(("10", "20", "50"),),
    queued=True,
)


def build(dependencies: CommandDependencies) -> Handler:
    return CompactCommand(dependencies.history, dependencies.router)


class CompactCommand:
    """The messages stay in the history; only the prompt becomes shorter."""

    def __init__(self, history: HistoryStore, router: Router) -> None:
        self._history = history
        self._router = router

    async def __call__(self, ask: CommandContext) -> Reply:
        check_shared(ask.person, ask.message)
        keep = _number(ask.arguments[0]) if ask.arguments else USUAL
        conversation_id = await ask.conversation_id(self._history)
        await ask.live.working()
        cost = cost_of(ask)
        done = await self._router.compact(
            Question(ask.person, conversation_id, "", fixed=ask.fixed), keep, cost, ask.live, ask.stop
        )
        record = TurnRecord(ask.turn_id, conversation_id, ask.person.id, "", calls=done.calls)
        if ask.stop.requested:
            return Reply(ask.say("⏹ Stopped."), record=record)
        if not done.messages:
            return Reply(
                ask.say("There is nothing to summarise yet: the newest {n} messages stay as they are.", n=keep)
            )
        if done.failure:
            words = "⚠️ The summary could not be written ({reason}), so the oldest {n} messages are left out for now."
            return Reply(ask.say(words, reason=done.failure, n=done.messages), record=record)
        words = "🗜 The oldest {n} messages became a summary; the newest {keep} stay. /history export has them all."
        return Reply(ask.say(words, n=done.messages, keep=keep), record=record)


def _number(text: str) -> int:
    if not (text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= MOST):
        raise Refused("Write a number from 1 to {most}: /compact 20. Nothing was changed.", most=MOST)
    return int(text)
