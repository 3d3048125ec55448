"""Users, guilds and channels. Times are the server's clock, in Unix seconds."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.servers.discord.message import Message

Json = dict[str, Any]

TEXT, DM, GROUP_DM, PUBLIC_THREAD, PRIVATE_THREAD = 0, 1, 3, 11, 12
"""Types of channels."""
EPHEMERAL, LOADING = 1 << 6, 1 << 7
"""Flags of messages."""
BOT_ID = 4_242_424_242_424_242
"""The bot, and its application."""
EPOCH = 1_420_070_400
"""Unix seconds at which Discord's ids begin (the documentation's "Discord Epoch")."""


def moment(at: float) -> str:
    """ISO 8601 as Discord writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class User:
    id: int
    name: str
    is_bot: bool = False
    locale: str = "en-US"

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    def json(self) -> Json:
        body: Json = {"id": str(self.id), "username": self.name.lower(), "discriminator": "0", "avatar": None}
        body |= {"global_name": self.name, "public_flags": 0, "flags": 0, "primary_guild": None}
        return body | ({"bot": True} if self.is_bot else {})


@dataclass(frozen=True, slots=True)
class Role:
    id: int
    name: str

    @property
    def mention(self) -> str:
        return f"<@&{self.id}>"


@dataclass(frozen=True, slots=True)
class Attachment:
    id: int
    name: str
    data: bytes = field(repr=False)
    mime: str
    url: str
    description: str | None = None

    def json(self) -> Json:
        body: Json = {"id": str(self.id), "filename": self.name, "size": len(self.data), "url": self.url}
        body |= {"proxy_url": self.url, "content_type": self.mime}
        return body | ({"description": self.description} if self.description else {})


@dataclass(slots=True, eq=False)
class Guild:
    """`has_bot` is false after the bot was removed, and where only users have installed it."""

    id: int
    name: str
    owner: User
    has_bot: bool = True
    members: dict[int, User] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    channels: dict[int, "Channel"] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Channel:
    """`forbidden` names the permissions that the bot lacks here; `starter` is the message a thread grew from."""

    id: int
    kind: int
    name: str = ""
    guild: Guild | None = None
    parent: "Channel | None" = None
    starter: "Message | None" = None
    owner: User | None = None
    recipients: list[User] = field(default_factory=list)
    has_bot: bool = True
    closed: bool = False
    archived: bool = False
    deleted: bool = False
    forbidden: set[str] = field(default_factory=set)
    messages: list["Message"] = field(default_factory=list)
    by_id: dict[int, "Message"] = field(default_factory=dict)
    created: float = 0.0

    @property
    def is_dm(self) -> bool:
        """The bot's own conversation with one person."""
        return self.kind == DM and self.has_bot

    @property
    def is_thread(self) -> bool:
        return self.kind in (PUBLIC_THREAD, PRIVATE_THREAD)

    @property
    def mention(self) -> str:
        return f"<#{self.id}>"

    def lacks(self, permission: str) -> bool:
        """Whether the bot lacks it here or in the channel above."""
        return permission in self.forbidden or (self.parent is not None and self.parent.lacks(permission))

    def from_bot(self) -> list["Message"]:
        """The bot's messages that were not deleted, oldest first; ephemeral ones included."""
        return [message for message in self.messages if message.from_bot and not message.deleted]
