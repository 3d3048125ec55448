"""Resolves pressed buttons. The platform gets a short token; the command and the owner are stored in the outbox."""

from __future__ import annotations

import re

from routing.errors import Refused
from routing.ports import OutboxStore
from routing.types.messages import Button, ChatKey, InboundMessage

VALID_SECONDS = 7 * 24 * 3600.0
_TOKEN = re.compile(r"t:(\d{1,18}):(\d{1,3})\.(\d{1,3})")


def token(outbox_id: int, row: int, column: int) -> str:
    """The callback data of a button, at most 32 bytes."""
    return f"t:{outbox_id}:{row}.{column}"


class CallbackButtons:
    def __init__(self, outbox: OutboxStore) -> None:
        self._outbox = outbox

    async def button(self, message: InboundMessage, person_id: int | None = None) -> Button:
        """The pressed button. Raises Refused if it had expired when it was pressed, is unknown, from another
        chat, or not `person_id`'s."""
        found = _TOKEN.fullmatch(message.text)
        entry = await self._outbox.get(int(found.group(1))) if found else None
        if found is None or entry is None or not _is_there(entry.message.chat, message):
            raise Refused("This button is no longer valid.")
        if message.sent_at - entry.created_at > VALID_SECONDS:
            raise Refused("This button has expired. Send the command again.")
        if person_id is not None and entry.message.owner not in (0, person_id):
            raise Refused("This button is for someone else.")
        return _button(entry.message.buttons, int(found.group(2)), int(found.group(3)))


def _is_there(chat: ChatKey, message: InboundMessage) -> bool:
    """Whether the press comes from the chat the button was sent to."""
    if chat.person:
        return message.private and chat.person == message.user.user_id
    return (chat.chat_id, chat.visitor) == (message.chat.chat_id, message.chat.visitor)


def _button(rows: tuple[tuple[Button, ...], ...], row: int, column: int) -> Button:
    if row >= len(rows) or column >= len(rows[row]):
        raise Refused("This button is no longer valid.")
    return rows[row][column]
