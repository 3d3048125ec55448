"""People's actions on the bot's messages: buttons and reactions; and changes to updates and names."""

import re
import time
from collections.abc import Sequence
from dataclasses import replace

from tests.servers.telegram.journal import Press
from tests.servers.telegram.people import Who
from tests.servers.telegram.sharing import Sharing
from tests.servers.telegram.values import Json, Message, User


class Script(Sharing):
    """All actions of people in a story."""

    def press(self, button: str, *, message: Message | None = None, user: Who = None, force: bool = False) -> Press:
        """Press an inline button, named by its text or data. Without `message`: on the user's latest bot message
        that has buttons. `force` sends `button` as data although there is no such button (an old client)."""
        who = self.user(user) if user is not None or message is None else message.chat.user or self.user()
        message = message or self._with_buttons(who)
        data = button if force else _data_of(button, message)
        press = Press(str(4_000_000_000_000 + self.serial()), who, message, data)
        self.presses[press.id] = press
        body: Json = {"id": press.id, "from": who.json(), "message": message.json(), "data": data}
        body["chat_instance"] = str(message.chat.id)
        press.update = self.updates.push("callback_query", body)
        self.changed()
        return press

    def _with_buttons(self, user: User) -> Message:
        for message in reversed(self.private(user).from_bot()):
            if message.buttons:
                return message
        raise AssertionError(f"no message with buttons for {user.first_name}")

    def expire(self, press: Press) -> None:
        """Expires the query: it can't be answered any more."""
        press.expired = True

    def react(self, message: Message, *emoji: str, user: Who = None) -> Json | None:
        """Sets all reactions of a user (none removes them). Bots that ask for message_reaction learn of it, in
        private chats and where they are administrators."""
        who = self.user(user) if user is not None else message.chat.user or self.user()
        old, new = message.reactions_of.get(who.id, ()), emoji
        message.reactions_of[who.id] = new
        body: Json = {"chat": message.chat.json(), "message_id": message.id, "user": who.json()}
        body |= {"date": int(time.time()), "old_reaction": _reactions(old), "new_reaction": _reactions(new)}
        visible = message.chat.is_private or message.chat.bot_is_admin
        update = self.updates.push("message_reaction", body) if visible else None
        self.changed()
        return update

    def redeliver(self, update: Message | Press | Json) -> None:
        """Sends the same update again, as after a lost acknowledgement."""
        body = update if isinstance(update, dict) else update.update
        if body is None:
            raise ValueError("the bot never got an update for this")
        self.updates.repeat(body)

    def rename(self, user: Who, first_name: str) -> User:
        """The user changes their name; ids stay."""
        renamed = replace(self.user(user), first_name=first_name)
        self.users[renamed.id] = renamed
        if renamed.id in self.chats:
            self.chats[renamed.id].user = renamed
        return renamed


def _reactions(emoji: Sequence[str]) -> list[Json]:
    """A name that starts with a colon is a custom emoji."""
    return [
        {"type": "custom_emoji", "custom_emoji_id": each[1:]} if each[0] == ":" else {"type": "emoji", "emoji": each}
        for each in emoji
    ]


def _data_of(button: str, message: Message) -> str:
    known = [(entry["text"], entry.get("callback_data")) for entry in message.buttons]
    for text, data in known:
        if data is not None and button in (text, data):
            return str(data)
    loose = [str(data) for text, data in known if data and re.search(re.escape(button), text, re.IGNORECASE)]
    if len(loose) == 1:
        return loose[0]
    raise AssertionError(f"no button {button!r} on message {message.id}; there are {known}")
