"""People's messages, and later changes to them."""

from tests.servers.telegram.entities import utf16_length
from tests.servers.telegram.people import People, Where, Who
from tests.servers.telegram.rules import MAX_TEXT
from tests.servers.telegram.typed import detect_entities, utf16_pieces
from tests.servers.telegram.values import Chat, Json, Message, Topic, User


class Talk(People):
    """Every action is a user's; the bot gets it through updates."""

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
        self.deliver("message", message)
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

    def edit(self, message: Message, text: str) -> Message:
        """The author edits a message's text or caption."""
        self.revise(message, text, detect_entities(text), message.reply_markup)
        self.deliver("edited_message", message)
        return message
