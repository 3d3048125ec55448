"""Users, chats, and messages with every version. Times `at` are `time.monotonic()` seconds (one clock for all
processes of a machine)."""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class User:
    id: int
    first_name: str
    username: str | None = None
    language_code: str | None = "en"
    is_bot: bool = False

    def json(self) -> Json:
        body: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        if self.username:
            body["username"] = self.username
        if self.language_code:
            body["language_code"] = self.language_code
        return body


@dataclass(frozen=True, slots=True)
class StoredFile:
    id: str
    unique_id: str
    path: str
    name: str
    mime: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a message: as sent, or after an edit."""

    text: str
    entities: list[Json]
    reply_markup: Json | None
    at: float


@dataclass(slots=True)
class Topic:
    id: int
    name: str
    closed: bool = False
    deleted: bool = False


@dataclass(slots=True)
class Chat:
    """`refusal` is the 403 text that sends meet (blocked, kicked …); `migrated_to` the supergroup it became."""

    id: int
    type: str
    title: str | None = None
    user: User | None = None
    is_forum: bool = False
    bot_is_admin: bool = False
    refusal: str | None = None
    migrated_to: int | None = None
    messages: list["Message"] = field(default_factory=list)
    topics: dict[int, Topic] = field(default_factory=dict)
    members: dict[int, User] = field(default_factory=dict)
    by_id: dict[int, "Message"] = field(default_factory=dict)
    last_message_id: int = 0

    @property
    def is_private(self) -> bool:
        return self.type == "private"

    def json(self) -> Json:
        if self.user is not None:
            body: Json = {"id": self.id, "type": self.type, "first_name": self.user.first_name}
            if self.user.username:
                body["username"] = self.user.username
            return body
        body = {"id": self.id, "type": self.type, "title": self.title or ""}
        if self.is_forum:
            body["is_forum"] = True
        return body

    def from_bot(self) -> list["Message"]:
        """The bot's messages that were not deleted, oldest first."""
        return [message for message in self.messages if message.from_bot and not message.deleted]


@dataclass(slots=True, eq=False)
class Message:
    """`content` holds the fields besides text (photo, document, service fields …); with media, text is the caption.
    `update` is the latest update that carried it to the bot, None if the bot did not subscribe to it."""

    chat: Chat
    id: int
    sender: User
    date: int
    versions: list[Version]
    content: Json = field(default_factory=dict)
    captioned: bool = False
    thread_id: int | None = None
    reply_to: "Message | None" = None
    reactions: list[Json] = field(default_factory=list)
    reactions_of: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """People's reactions, by user id."""
    deleted: bool = False
    edit_date: int | None = None
    update: Json | None = None

    @property
    def from_bot(self) -> bool:
        return self.sender.is_bot

    @property
    def text(self) -> str:
        return self.versions[-1].text

    @property
    def entities(self) -> list[Json]:
        return self.versions[-1].entities

    @property
    def reply_markup(self) -> Json | None:
        return self.versions[-1].reply_markup

    @property
    def at(self) -> float:
        """When it was sent; `versions[-1].at` is when it was last edited."""
        return self.versions[0].at

    @property
    def buttons(self) -> list[Json]:
        """The inline buttons, row by row."""
        rows = (self.reply_markup or {}).get("inline_keyboard", [])
        return [button for row in rows for button in row]

    @property
    def emoji(self) -> list[str]:
        """The bot's reactions to it."""
        return [str(reaction.get("emoji", reaction["type"])) for reaction in self.reactions]

    def json(self, *, deep: bool = True) -> Json:
        body: Json = {"message_id": self.id, "date": self.date, "chat": self.chat.json()}
        body["from"] = self.sender.json()
        if self.thread_id is not None:
            body |= {"message_thread_id": self.thread_id, "is_topic_message": True}
        if deep and self.reply_to is not None:
            body["reply_to_message"] = self.reply_to.json(deep=False)
        body |= self.content
        if self.text:
            body["caption" if self.captioned else "text"] = self.text
            if self.entities:
                body["caption_entities" if self.captioned else "entities"] = self.entities
        if self.edit_date is not None:
            body["edit_date"] = self.edit_date
        if self.reply_markup and "inline_keyboard" in self.reply_markup:
            body["reply_markup"] = self.reply_markup
        return body
