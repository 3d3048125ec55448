"""The values that travel: frozen, slotted, without I/O. A decision carries its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class UserKey:
    """Who: an account on one platform."""

    platform: str
    user_id: str

    def __str__(self) -> str:
        return f"{self.platform}:{self.user_id}"


@dataclass(frozen=True, slots=True)
class ChatKey:
    """Where: a chat and, if it has them, the topic or thread. Behind an @ in `thread_id` stands the id of the only
    person in a conversation that others in the chat can't see."""

    platform: str
    chat_id: str
    thread_id: str = ""

    @classmethod
    def of(cls, user: UserKey) -> ChatKey:
        """The private chat with somebody who need not have written there yet, named by who it is."""
        return cls(user.platform, f"@{user.user_id}")

    @property
    def person(self) -> str:
        """The user id, where a chat is named by who it is with; else empty."""
        return self.chat_id[1:] if self.chat_id.startswith("@") else ""

    @property
    def topic(self) -> str:
        """The platform's id of the topic or thread; empty without one."""
        return self.thread_id.partition("@")[0]

    @property
    def visitor(self) -> str:
        """The user id of the only person in this conversation; empty where others take part, too."""
        return self.thread_id.partition("@")[2]


AttachmentKind = Literal["image", "text", "voice", "other"]


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
    """A button was pressed: `query` is what the platform wants answered, `message_id` holds the button."""

    query: str
    message_id: str


InboundKind = Literal["message", "edited", "press", "unsupported", "reaction"]


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One update of a platform, made durable before it is acknowledged. `sent_at` is Unix seconds. `forwarded_from`
    names the author of a text that the sender only passed on, empty when unknown; None for the sender's own words.
    `by_chat`: written in the name of a group or channel, by people who can't be told apart."""

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
    forwarded_from: str | None = None
    by_chat: bool = False
    username: str = ""

    @property
    def own_text(self) -> str:
        """What the sender wrote. Only this is ever read as a command, a code, a stop or a tier prefix."""
        return self.text if self.forwarded_from is None else ""


@dataclass(frozen=True, slots=True)
class Button:
    """A labelled command; the platform carries a short token, the command stays with us. `about` is what
    the command is for, where that is one thing only: the turn of a question, a council's question, its votes. A
    `press_only` command has no effect when it is typed."""

    label: str
    command: str
    about: str = ""
    press_only: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A text that is handed over as a file; `name` is a file's name without a folder."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG that is shown with a text; `name` is a file's name without a folder."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """A reply in Markdown, with a picture and a document if it has them. `edits` names a message of ours to replace;
    only `owner` may press the buttons. A `secret` text is deleted from the database once it is sent. `attached` is the
    line, with `{name}`, in place of a code block that is sent as a file; empty keeps all code in the text. One that is
    `apart` comes after the answer to the same message and never takes its place."""

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
