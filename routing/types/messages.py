"""Messages to and from the platforms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

CHAT_ID_PREFIX = "-"
"""Start of the ids of Telegram's groups and channels, which are negative numbers."""


@dataclass(frozen=True, slots=True)
class UserKey:
    """An account on one platform."""

    platform: str
    user_id: str

    def __str__(self) -> str:
        return f"{self.platform}:{self.user_id}"

    @property
    def is_chat(self) -> bool:
        """Whether this is a Telegram group or channel that posts in its own name."""
        return self.platform == "telegram" and self.user_id.startswith(CHAT_ID_PREFIX)


@dataclass(frozen=True, slots=True)
class ChatKey:
    """A chat and, if it has them, a topic or thread. In a conversation that only one person in the chat can see,
    `thread_id` ends with @ and their id."""

    platform: str
    chat_id: str
    thread_id: str = ""

    @classmethod
    def of(cls, user: UserKey) -> ChatKey:
        """The private chat with a user who may not have written there yet; its id is derived from the user's."""
        return cls(user.platform, f"@{user.user_id}")

    @property
    def claim(self) -> str:
        """What a process claims to handle this chat: the chat with all its topics. Telegram's private chats have the
        user's id, so that a claim also covers the chat named after the user."""
        return f"{self.platform}:{self.chat_id.removeprefix('@')}"

    @property
    def person(self) -> str:
        """The user id if the chat is named after a user; else empty."""
        return self.chat_id[1:] if self.chat_id.startswith("@") else ""

    @property
    def in_server(self) -> bool:
        """Whether people call the place a server; groups are enabled one by one, a server as a whole."""
        return self.platform == "discord"

    @property
    def topic(self) -> str:
        """The platform's id of the topic or thread, or empty."""
        return self.thread_id.partition("@")[0]

    @property
    def visitor(self) -> str:
        """The user id of the only participant; empty if others take part."""
        return self.thread_id.partition("@")[2]


AttachmentKind = Literal["image", "text", "voice", "document", "other"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message; `ref` is the platform's handle, `size` is in bytes (0: unknown)."""

    kind: AttachmentKind
    name: str
    mime: str
    size: int
    ref: str


@dataclass(frozen=True, slots=True)
class Press:
    """A button press: `query` is the platform's id to answer, `message_id` the message with the button."""

    query: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time of a scheduled prompt: the id of the schedule, and when it was due in Unix seconds."""

    schedule_id: int
    due: float


InboundKind = Literal["message", "edited", "press", "unsupported", "reaction"]


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One update of a platform, stored before it is acknowledged. `sent_at` is in Unix seconds. `forwarded_from` names
    the author of a forwarded text (empty: unknown); None if the sender wrote it. `by_chat`: posted in the name of a
    group or channel, by people who can't be told apart. The text of a reaction is the emoji; `removed`: it was taken
    back. The text of an unsupported message is an English plural noun for its content; `extension` is that of a file,
    such as `.zip`. `sealed`: the text is encrypted, because it may be a password. `scheduled`: the bot
    itself sends this prompt for the user, who wrote it earlier. `form`: the text was entered in the form of a button,
    so the chat does not show it."""

    user: UserKey
    chat: ChatKey
    bot_id: str
    update_id: str
    text: str
    sent_at: float
    kind: InboundKind = "message"
    user_name: str = ""
    bot_name: str = ""
    private: bool = True
    language: str = ""
    message_id: str = ""
    album: str = ""
    attachments: tuple[Attachment, ...] = ()
    quoted: str = ""
    press: Press | None = None
    parts: int = 1
    quoted_from: str = ""
    quoted_id: str = ""
    forwarded_from: str | None = None
    by_chat: bool = False
    username: str = ""
    removed: bool = False
    extension: str = ""
    sealed: bool = False
    scheduled: Occurrence | None = None
    form: bool = False

    @property
    def own_text(self) -> str:
        """The text that the sender wrote just now. Only this is parsed for commands, codes and stops."""
        return self.text if self.forwarded_from is None and self.scheduled is None else ""


@dataclass(frozen=True, slots=True)
class Button:
    """A labelled command; the platform gets a short token, the command stays here. `about` is the object of the command
    if there is just one: the turn of a question, a council's question, its votes. A `press_only` command has no effect
    when typed. A button with a `form` has no command: it opens a form with this title for a password."""

    label: str
    command: str
    about: str = ""
    press_only: bool = False
    form: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A text to send as a file; `name` is a file name without a folder."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG to send with a text; `name` is a file name without a folder."""

    name: str
    data: bytes


FileKind = Literal["file", "picture", "voice"]
"""How a platform shows a file: as it is, as a picture, or as a voice message (Opus in Ogg)."""


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """A file to send; `name` is a file name without a folder. Once stored, its content is on disk under `key`, and
    `data` is empty until it is sent."""

    name: str
    mime: str
    data: bytes = field(default=b"", repr=False)
    kind: FileKind = "file"
    key: str = ""


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """A reply in Markdown, optionally with a picture, a document and further files. `edits` is the id of our message to
    replace. Only `owner` may press the buttons. A `secret` text is deleted from the database after sending. `attached`
    is the line, with `{name}`, that replaces a code block sent as a file; empty keeps all code in the text. An `apart`
    reply follows the answer to the same message and never replaces it. If the chat can't be reached, the reply goes to
    `otherwise`."""

    chat: ChatKey
    text: str
    reply_to: str = ""
    edits: str = ""
    owner: int = 0
    buttons: tuple[tuple[Button, ...], ...] = ()
    document: Document | None = None
    picture: Picture | None = None
    secret: bool = False
    attached: str = ""
    apart: bool = False
    files: tuple[OutgoingFile, ...] = ()
    otherwise: ChatKey | None = None
