"""What people do in a story: type, send files, edit, press buttons, react."""

import re
import time
from dataclasses import replace

from tests.servers.telegram.detect import detect_entities
from tests.servers.telegram.entities import utf16_length
from tests.servers.telegram.media import MEDIA
from tests.servers.telegram.people import People, Where, Who
from tests.servers.telegram.rules import MAX_TEXT
from tests.servers.telegram.values import Chat, Json, Message, Press, Topic, Upload, User, utf16_pieces

UNSUPPORTED: dict[str, Json] = {
    "sticker": {
        "sticker": {
            "file_id": "sticker-1",
            "file_unique_id": "s1",
            "type": "regular",
            "width": 512,
            "height": 512,
            "is_animated": False,
            "is_video": False,
            "emoji": "👍",
        }
    },
    "poll": {
        "poll": {
            "id": "1",
            "question": "Tea or coffee?",
            "options": [
                {"persistent_id": "1", "text": "Tea", "voter_count": 0},
                {"persistent_id": "2", "text": "Coffee", "voter_count": 0},
            ],
            "total_voter_count": 0,
            "is_closed": False,
            "is_anonymous": True,
            "type": "regular",
            "allows_multiple_answers": False,
            "allows_revoting": True,
            "members_only": False,
        }
    },
    "location": {"location": {"latitude": 52.52, "longitude": 13.405}},
    "contact": {"contact": {"phone_number": "+1555", "first_name": "Carol"}},
    "dice": {"dice": {"emoji": "🎲", "value": 4}},
    "video_note": {"video_note": {"file_id": "note-1", "file_unique_id": "n1", "length": 240, "duration": 3}},
}


class Script(People):
    """Everything here is done by a user; the bot learns of it through updates."""

    def say(
        self,
        text: str,
        *,
        user: Who = None,
        chat: Where | None = None,
        group: Where | None = None,
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
        mention: User | None = None,
        content: Json | None = None,
        captioned: bool = False,
    ) -> Message:
        """A message typed in the user's private chat, or in `group` (or any `chat`), as one update.

        Entities are found as the server finds them; `mention` adds a text_mention over that user's name.
        """
        if utf16_length(text) > MAX_TEXT:
            raise ValueError("longer than a message: clients split such a text, use paste()")
        sender = self.user(user)
        where = self._place(sender, chat if chat is not None else group)
        if not where.is_private:
            where.members[sender.id] = sender
        message = self.add_message(
            where,
            sender,
            text,
            self._entities(text, mention),
            content=content,
            captioned=captioned,
            thread_id=topic.id if isinstance(topic, Topic) else topic,
            reply_to=reply_to,
        )
        self.tell("message", message)
        return message

    def _place(self, sender: User, where: Where | None) -> Chat:
        if where is None:
            return self.private(sender)
        if isinstance(where, int) and where in self.chats:
            return self.chats[where]
        return self.group(where)

    def _entities(self, text: str, mention: User | None) -> list[Json]:
        found = detect_entities(text)
        if mention is not None:
            start = text.index(mention.first_name)
            span = {"offset": utf16_length(text[:start]), "length": utf16_length(mention.first_name)}
            found.append({"type": "text_mention", "user": mention.json(), **span})
        return found

    def paste(self, text: str, *, user: Who = None, group: Where | None = None) -> list[Message]:
        """A text of any length, split into several messages as clients do."""
        return [self.say(piece, user=user, group=group) for piece in utf16_pieces(text, MAX_TEXT)]

    def say_photo(
        self,
        data: bytes,
        *,
        caption: str = "",
        media_group: str | None = None,
        mime: str = "image/jpeg",
        user: Who = None,
        group: Where | None = None,
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        """One photo; those with the same `media_group` form an album, each in its own update."""
        upload = Upload("photo.jpg", data, mime)
        return self._say_file("photo", upload, caption, media_group, user, group, topic, reply_to)

    def say_document(
        self,
        name: str,
        data: bytes,
        mime: str = "text/plain",
        *,
        caption: str = "",
        media_group: str | None = None,
        user: Who = None,
        group: Where | None = None,
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        upload = Upload(name, data, mime)
        return self._say_file("document", upload, caption, media_group, user, group, topic, reply_to)

    def say_voice(
        self,
        data: bytes = b"OggS",
        *,
        mime: str = "audio/ogg",
        user: Who = None,
        group: Where | None = None,
        topic: Topic | int | None = None,
        reply_to: Message | None = None,
    ) -> Message:
        upload = Upload("voice.ogg", data, mime)
        return self._say_file("voice", upload, "", None, user, group, topic, reply_to)

    def _say_file(
        self,
        kind: str,
        upload: Upload,
        caption: str,
        album: str | None,
        user: Who,
        group: Where | None,
        topic: Topic | int | None,
        reply_to: Message | None,
    ) -> Message:
        content = MEDIA[kind](self, self.store(upload, f"{kind}s"))
        if album is not None:
            content["media_group_id"] = album
        return self.say(
            caption, user=user, group=group, topic=topic, reply_to=reply_to, content=content, captioned=True
        )

    def unsupported(self, kind: str = "sticker", *, user: Who = None, group: Where | None = None) -> Message:
        """Something a text bot cannot read: sticker, poll, location, contact, dice or video_note."""
        return self.say("", user=user, group=group, content=UNSUPPORTED[kind])

    def edit(self, message: Message, text: str) -> Message:
        """The author changes the text (or caption) of what was said."""
        self.revise(message, text, detect_entities(text), message.reply_markup)
        self.tell("edited_message", message)
        return message

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
        """The query is too old to be answered now."""
        press.expired = True

    def react(self, message: Message, emoji: str, *, user: Who = None) -> Json | None:
        """A user's reaction; only bots that ask for message_reaction learn of it."""
        new = [{"type": "emoji", "emoji": emoji}]
        body: Json = {"chat": message.chat.json(), "message_id": message.id, "user": self.user(user).json()}
        body |= {"date": int(time.time()), "old_reaction": [], "new_reaction": new}
        update = self.updates.push("message_reaction", body)
        self.changed()
        return update

    def redeliver(self, update: Message | Press | Json) -> None:
        """The same update once more, as after a lost acknowledgement."""
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


def _data_of(button: str, message: Message) -> str:
    known = [(entry["text"], entry.get("callback_data")) for entry in message.buttons]
    for text, data in known:
        if data is not None and button in (text, data):
            return str(data)
    loose = [str(data) for text, data in known if data and re.search(re.escape(button), text, re.IGNORECASE)]
    if len(loose) == 1:
        return loose[0]
    raise AssertionError(f"no button {button!r} on message {message.id}; there are {known}")
