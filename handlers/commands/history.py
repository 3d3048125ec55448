"""/history: lists the chat's conversations, goes back to one, or exports one."""

from __future__ import annotations

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

from handlers.access.roles import check_shared
from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.replies.export import MAX_BYTES, exported
from routing.errors import Refused
from routing.ports import HistoryStore, PreferenceStore
from routing.types.history import Conversation, StoredMessage, for_person
from routing.types.messages import Button
from routing.types.time_zones import time_zone

SPEC = CommandSpec(
    "history",
    "List this chat's conversations, resume an earlier one or export one",
    ("/history", "/history resume 2", "/history export", "/history export 2"),
    choices=(("resume", "export"),),
    changes=True,
    personal=True,
    shared=("resume",),
)
SHOWN = 10
TITLE_LENGTH = 60
MAX_DIGITS = 6
PAGE = 200
"""Messages to read at a time for an export."""


def build(dependencies: CommandDependencies) -> Handler:
    return HistoryCommand(dependencies.history, dependencies.preferences)


class HistoryCommand:
    """Conversations are numbered from the newest, starting at 1."""

    def __init__(self, history: HistoryStore, preferences: PreferenceStore) -> None:
        self._history = history
        self._preferences = preferences

    async def __call__(self, ask: CommandContext) -> Reply:
        match tuple(word.lower() for word in ask.arguments):
            case ():
                return await self._list(ask)
            case ("resume", number) if number.isdecimal() and len(number) <= MAX_DIGITS:
                return await self._resume(ask, int(number))
            case ("export",):
                return await self._export(ask, await self._history.current(ask.message.chat))
            case ("export", number) if number.isdecimal() and len(number) <= MAX_DIGITS:
                return await self._export(ask, await self._chosen(ask, int(number)))
        raise Refused("Write /history, /history resume <number> or /history export [number]. Nothing was changed.")

    async def _list(self, ask: CommandContext) -> Reply:
        found = await self._history.recent(ask.message.chat, SHOWN)
        if not found:
            return Reply(ask.say("There is nothing here yet."))
        current = await self._history.current(ask.message.chat)
        zone = await self._zone(ask)
        lines = []
        for number, each in enumerate(found, 1):
            began = ask.say.time(datetime.fromtimestamp(each.started_at, zone))
            title = " ".join(each.title.split())[:TITLE_LENGTH].replace("`", "'")
            here = ask.say(" ← this one") if each.id == current.id else ""
            lines.append(f"{number}. {began}, {ask.say('{n} messages', n=each.messages)}: `{title}`{here}")
        buttons = tuple(Button(str(n), f"/history resume {n}") for n in range(1, len(found) + 1))
        return Reply("\n".join(lines), (buttons[:5], buttons[5:]) if buttons[5:] else (buttons,))

    async def _resume(self, ask: CommandContext, number: int) -> Reply:
        check_shared(ask.person, ask.message)
        await self._history.resume(await self._chosen(ask, number))
        return Reply(ask.say("↩ Back in conversation {number}.", number=number))

    async def _export(self, ask: CommandContext, conversation: Conversation) -> Reply:
        messages = [for_person(each, ask.person.id) for each in await self._all(conversation.id)]
        if not messages:
            raise Refused("This conversation is still empty; /history lists the earlier ones.")
        made = await asyncio.to_thread(exported, conversation, messages, await self._zone(ask), ask.say)
        _fits(len(made.text.encode()))
        words = "📄 The conversation as a file, {n} messages."
        return Reply(ask.say(words, n=len(messages)), document=made)

    async def _all(self, conversation_id: int) -> list[StoredMessage]:
        """All messages, oldest first. Stops early once they exceed the export limit."""
        newest_first: list[StoredMessage] = []
        length, before = 0, None
        while True:
            page, _ = await self._history.messages(conversation_id, PAGE, before)
            newest_first += reversed(page)
            length += sum(len(message.text) for message in page)
            _fits(length)
            if len(page) < PAGE:
                return newest_first[::-1]
            before = page[0].id

    async def _chosen(self, ask: CommandContext, number: int) -> Conversation:
        found = await self._history.recent(ask.message.chat, max(1, number))
        if not 1 <= number <= len(found):
            raise Refused("There is no conversation {number}; /history lists them.", number=number)
        return found[number - 1]

    async def _zone(self, ask: CommandContext) -> ZoneInfo:
        return await time_zone((await self._preferences.settings(ask.person.id)).time_zone)


def _fits(size: int) -> None:
    if size > MAX_BYTES:
        raise Refused("This conversation is too long to export; the limit is {most} MB.", most=MAX_BYTES // 1_000_000)
