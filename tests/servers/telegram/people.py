"""Users, groups and topics by any name that a test uses, and events about them."""

import time

from tests.servers.telegram.bot_methods import member_json
from tests.servers.telegram.values import Chat, Json, Message, Topic, User
from tests.servers.telegram.world import World

ALICE = User(1001, "Alice", "alice")
"""The speaker unless a test names one."""
Who = User | int | str | None
Where = Chat | int | str


class People(World):
    """People and groups are created when they are first named: `user="bob"`, `user=42`, `group="Team"` just work."""

    def user(self, who: Who = None, *, language_code: str | None = "en") -> User:
        """A user by value, id or first name; by default Alice (id 1001)."""
        match who:
            case None:
                user = ALICE
            case User():
                user = who
            case int():
                user = self.users.get(who) or User(who, f"User {who}", f"user{who}", language_code)
            case str():
                named = (u for u in self.users.values() if u.first_name.lower() == who.lower())
                user = next(named, None) or self._new_user(who, language_code)
        return self.users.setdefault(user.id, user)

    def _new_user(self, name: str, language_code: str | None) -> User:
        if name.lower() == "alice":
            return ALICE
        return User(2000 + self.serial(), name.capitalize(), name.lower(), language_code)

    def private(self, who: Who = None) -> Chat:
        """The private chat with a user, created on first use."""
        user = self.user(who)
        return self.chats.setdefault(user.id, Chat(user.id, "private", user=user))

    def group(self, where: Where = "Team", *, kind: str = "supergroup", forum: bool = False) -> Chat:
        """A group by value, id or title; the bot is a member, not an administrator. Positive ids are private chats."""
        if isinstance(where, Chat):
            return where
        if isinstance(where, int) and where > 0:
            return self.private(where)
        known = (c for c in self.chats.values() if where in (c.id, c.title))
        if (chat := next(known, None)) is not None:
            return chat
        number = self.serial()
        new_id = -1_001_000_000_000 - number if kind == "supergroup" else -4_000_000 - number
        if isinstance(where, int):
            new_id, where = where, f"Group {where}"
        chat = self.chats[new_id] = Chat(new_id, kind, title=where, is_forum=forum)
        self.changed()
        return chat

    def topic(self, where: Where, name: str, *, creator: Who = None) -> Topic:
        """A topic by name, created if it doesn't exist; the creation is an update, as in real forums."""
        chat = self.private(where.user) if isinstance(where, Chat) and where.user else self.group(where, forum=True)
        for topic in chat.topics.values():
            if topic.name == name:
                return topic
        topic = self.open_topic(chat, name, self.user(creator))
        self.deliver("message", chat.by_id[topic.id])
        return topic

    def close_topic(self, where: Where, topic: Topic) -> None:
        """Only administrators may write there now."""
        topic.closed = True
        self.deliver(
            "message",
            self.add_message(self.group(where), self.user(), content={"forum_topic_closed": {}}, thread_id=topic.id),
        )

    def delete_topic(self, where: Where, topic: Topic) -> None:
        """Deletes its messages, too; the bot gets no update."""
        topic.deleted = True
        for message in self.group(where).messages:
            message.deleted = message.deleted or message.thread_id == topic.id
        self.changed()

    def block(self, who: Who = None) -> None:
        self._change_membership(self.private(who), "bot was blocked by the user")

    def unblock(self, who: Who = None) -> None:
        self._change_membership(self.private(who), None)

    def deactivate(self, who: Who = None) -> None:
        """Deletes the account; the bot only notices with its next send."""
        self.private(who).refusal = "user is deactivated"

    def kick(self, where: Where) -> None:
        chat = self.group(where)
        self._change_membership(chat, f"bot was kicked from the {chat.type} chat")

    def join(self, where: Where, *, admin: bool = False) -> Chat:
        """The bot is added to a group (again), or becomes an administrator."""
        chat = self.group(where)
        chat.refusal = "bot is not a member of the chat" if not chat.messages else chat.refusal
        self._change_membership(chat, None, admin=admin)
        return chat

    def _change_membership(self, chat: Chat, refusal: str | None, *, admin: bool = False) -> None:
        user = chat.user or self.user()
        before = member_json(chat, self.bot)
        chat.refusal, chat.bot_is_admin = refusal, admin
        body: Json = {"chat": chat.json(), "from": user.json(), "date": int(time.time())}
        body |= {"old_chat_member": before, "new_chat_member": member_json(chat, self.bot)}
        self.updates.push("my_chat_member", body)
        self.changed()

    def migrate(self, where: Where) -> Chat:
        """A basic group becomes a supergroup with a new id; the old id answers 400 with migrate_to_chat_id."""
        old = self.group(where, kind="group")
        new = Chat(-1_001_500_000_000 - self.serial(), "supergroup", title=old.title, members=dict(old.members))
        self.chats[new.id] = new
        user = self.user()
        self.deliver("message", self.add_message(old, user, content={"migrate_to_chat_id": new.id}))
        self.deliver("message", self.add_message(new, user, content={"migrate_from_chat_id": old.id}))
        old.migrated_to = new.id
        return new

    def _concerns_bot(self, message: Message) -> bool:
        """What a group shows a bot in privacy mode; service messages have no text and are always shown."""
        if message.chat.is_private or not message.text:
            return True
        name = f"@{self.bot.username}".lower()
        command = message.text.split()[0].lower() if message.text.startswith("/") else ""
        if command:
            return "@" not in command or command.endswith(name)
        answers_bot = message.reply_to is not None and message.reply_to.from_bot
        return answers_bot or name in message.text.lower()

    def deliver(self, kind: str, message: Message) -> None:
        """Delivers a message to the bot as an update of that kind, if the bot is a member and subscribed to it."""
        if message.chat.refusal is None and (not self.privacy or self._concerns_bot(message)):
            message.update = self.updates.push(kind, message.json())
        self.changed()
