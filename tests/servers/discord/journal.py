"""The bot's actions besides messages: typing, interactions, and every call. Times as in `values`."""

from dataclasses import dataclass, field
from typing import Any

from tests.servers.discord.message import Message
from tests.servers.discord.values import EPHEMERAL, Channel, Json, User
from tests.servers.uploads import Upload

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 2, 3, 4, 5
"""Types of interactions."""


@dataclass(frozen=True, slots=True)
class Typing:
    channel: Channel
    at: float


@dataclass(slots=True)
class Request:
    """One call; `route` is its path in the schema, such as "/channels/{channel_id}/messages" ("" if there is none).
    `status` is 0 until it is answered, and stays 0 if the connection was closed."""

    method: str
    path: str
    at: float
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    files: list[Upload] = field(default_factory=list)
    route: str = ""
    status: int = 0
    code: int = 0
    answer: Any = None
    limited: bool = False
    drip: float = 0.0
    """Seconds between two bytes of the answer."""

    @property
    def refused(self) -> bool:
        return self.status >= 400

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that no correct bot does; `call` is "POST /channels/1/messages" or "gateway op 2"."""

    call: str
    description: str
    body: Any = None

    def __str__(self) -> str:
        return f"{self.call}: {self.description}"


@dataclass(slots=True)
class Response:
    """The first answer to an interaction: the type of callback (4 message, 5 deferred, 6 deferred update, 7 update,
    8 choices, 9 modal) and its data."""

    type: int
    data: Json
    at: float


@dataclass(slots=True, eq=False)
class Interaction:
    """`message` is what @original means: the answer, or the message whose button was pressed if that was updated.
    `followups` are the further messages; the first one after a deferral fills `message` instead, as on Discord."""

    id: int
    token: str
    kind: int
    user: User
    channel: Channel
    context: int
    installed: str
    created: float
    data: Json
    event: Json = field(default_factory=dict)
    source: Message | None = None
    focused_type: int = 0
    response: Response | None = None
    message: Message | None = None
    followups: list[Message] = field(default_factory=list)

    @property
    def deferred(self) -> bool:
        """Whether the first answer was "thinking …" (invisible for a component)."""
        return self.response is not None and self.response.type in (5, 6)

    @property
    def ephemeral(self) -> bool:
        """Whether only the person sees the answer."""
        if self.message is not None and self.message is not self.source:
            return self.message.ephemeral
        return self.response is not None and bool(self.response.data.get("flags", 0) & EPHEMERAL)

    @property
    def acknowledged_after(self) -> float | None:
        """Seconds until the first answer."""
        return None if self.response is None else self.response.at - self.created

    @property
    def choices(self) -> list[Json]:
        """The autocomplete choices."""
        return list(self.response.data.get("choices") or []) if self.response is not None else []

    @property
    def modal(self) -> Json | None:
        return self.response.data if self.response is not None and self.response.type == 9 else None

    @property
    def is_users_only(self) -> bool:
        """Whether it came through the user's installation, without the bot on the server."""
        guild = self.channel.guild
        return self.installed == "user" and not (self.channel.is_dm if guild is None else guild.has_bot)

    @property
    def answers(self) -> list[Message]:
        """All messages in answer to it, oldest first."""
        own = [self.message] if self.message is not None and self.message is not self.source else []
        return own + self.followups
