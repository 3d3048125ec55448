"""A loopback Telegram Bot API server: `TelegramServer`, and the values found in its log."""

from tests.servers.telegram.entities import check_entities
from tests.servers.telegram.errors import ApiError
from tests.servers.telegram.journal import Action, Draft, Press, Request, Violation
from tests.servers.telegram.server import TelegramServer
from tests.servers.telegram.values import Chat, Message, User

__all__ = [
    "Action",
    "ApiError",
    "Chat",
    "Draft",
    "Message",
    "Press",
    "Request",
    "TelegramServer",
    "User",
    "Violation",
    "check_entities",
]
