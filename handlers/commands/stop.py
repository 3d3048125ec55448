"""/stop: stops the running answer."""

from __future__ import annotations

from handlers.access.roles import may
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.running import RunningTurns
from routing.errors import Refused

SPEC = CommandSpec("stop", "Stop the answer in progress", ("/stop",), personal=True)


def build(dependencies: CommandDependencies) -> Handler:
    return StopCommand(dependencies.running)


class StopCommand:
    """The stopped turn reports that itself. This command replies only if it stopped nothing."""

    def __init__(self, running: RunningTurns) -> None:
        self._running = running

    async def __call__(self, ask: CommandContext) -> Reply:
        chat, user = ask.message.chat, ask.message.user
        if self._running.asker(chat) not in (None, user) and not may(ask.person, "user"):
            raise Refused("Someone else asked for this answer. A guest can only stop their own.")
        if self._running.stop(chat):
            await self._running.ended(chat)  # so that a crash before this point repeats the stop
            return Reply("")
        return Reply("" if ask.cancelled else ask.say("Nothing is running here."))
