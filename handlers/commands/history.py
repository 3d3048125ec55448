"""/history: the conversations of this chat, and going back to one."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.needs import Needs
from handlers.running import RunningTurns
from routing.errors import Refused
from routing.stores import HistoryStore, PreferenceStore
from routing.types import Button

SPEC = CommandSpec(
    "history",
    "List this chat's conversations, or go on with an earlier one",
    ("/history", "/history resume 2"),
    choices=(("resume",),),
)
SHOWN = 10
TITLE_LENGTH = 60
MOST_DIGITS = 6


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return HistoryCommand(needs.history, needs.preferences, needs.running)


class HistoryCommand:
    """Conversations are numbered from the newest, 1."""

    def __init__(self, history: HistoryStore, preferences: PreferenceStore, running: RunningTurns) -> None:
        self._history = history
        self._preferences = preferences
        self._running = running

    async def __call__(self, ask: Ask) -> Reply:
        match ask.arguments:
            case ():
                return await self._list(ask)
            case (verb, number) if verb.lower() == "resume" and number.isdecimal() and len(number) <= MOST_DIGITS:
                return await self._resume(ask, int(number))
        raise Refused("Write /history, or /history resume <number>. Nothing was changed.")

    async def _list(self, ask: Ask) -> Reply:
        found = await self._history.recent(ask.message.chat, SHOWN)
        if not found:
            return Reply(ask.say("There is nothing here yet."))
        current = await self._history.current(ask.message.chat)
        zone = ZoneInfo((await self._preferences.settings(ask.person.id)).time_zone)
        lines = []
        for number, each in enumerate(found, 1):
            began = f"{datetime.fromtimestamp(each.started_at, zone):%Y-%m-%d %H:%M}"
            title = " ".join(each.title.split())[:TITLE_LENGTH].replace("`", "'")
            here = ask.say(" ← this one") if each.id == current.id else ""
            lines.append(f"{number}. {began}, {ask.say('{n} messages', n=each.messages)}: `{title}`{here}")
        buttons = tuple(Button(str(n), f"/history resume {n}") for n in range(1, len(found) + 1))
        return Reply("\n".join(lines), (buttons[:5], buttons[5:]) if buttons[5:] else (buttons,))

    async def _resume(self, ask: Ask, number: int) -> Reply:
        if ask.message.chat in self._running:
            raise Refused("An answer is under way in this conversation. /stop ends it first.")
        found = await self._history.recent(ask.message.chat, max(1, number))
        if not 1 <= number <= len(found):
            raise Refused("There is no conversation {number}; /history lists them.", number=number)
        await self._history.resume(found[number - 1])
        return Reply(ask.say("↩ Going on with conversation {number}.", number=number))
