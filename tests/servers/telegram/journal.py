"""The bot's actions besides messages: drafts, chat actions, answers to buttons, and every call. Times as in
`values`."""

import time
from dataclasses import dataclass, field

from tests.servers.telegram.values import Json, Message, User


@dataclass(frozen=True, slots=True)
class Draft:
    chat_id: int
    draft_id: int
    thread_id: int | None
    text: str
    entities: list[Json]
    at: float


@dataclass(frozen=True, slots=True)
class Action:
    """A sendChatAction, such as typing."""

    chat_id: int
    action: str
    thread_id: int | None
    at: float


@dataclass(slots=True)
class Press:
    """A pressed button; `answer` is the text of answerCallbackQuery, None before."""

    id: str
    user: User
    message: Message
    data: str
    update: Json | None = None
    answer: Json | None = None
    expired: bool = False


@dataclass(slots=True)
class Request:
    """One call; `status` is 0 until it is answered, and stays 0 if the connection was closed."""

    method: str
    params: Json
    at: float = field(default_factory=time.monotonic)
    status: int = 0
    description: str = ""

    @property
    def refused(self) -> bool:
        return self.status >= 400


@dataclass(frozen=True, slots=True)
class Violation:
    method: str
    description: str
    params: Json

    def __str__(self) -> str:
        return f"{self.method}: {self.description}"
