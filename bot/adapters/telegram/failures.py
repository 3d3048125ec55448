"""What a failed Telegram call means for the reply it carried."""

from __future__ import annotations

from enum import Enum, auto

import httpx
from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from bot.adapters.shared.failures import not_sent, token_refused, unanswered
from bot.adapters.telegram.api import ServerError, TooMany
from bot.platform import SendFailed, SendLater, SendRefused

# Raised before a request was sent; the library wraps them like later errors.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


class Refusal(Enum):
    """Kinds of status 400 that need different handling. Only the error text tells them apart."""

    UNCHANGED = auto()
    NOT_EDITABLE = auto()
    ENTITIES = auto()
    THREAD = auto()
    OTHER = auto()


_TEXTS = (
    ("message is not modified", Refusal.UNCHANGED),
    ("message to edit not found", Refusal.NOT_EDITABLE),
    ("message can't be edited", Refusal.NOT_EDITABLE),
    ("there is no text in the message to edit", Refusal.NOT_EDITABLE),
    ("message_id_invalid", Refusal.NOT_EDITABLE),
    ("can't parse entities", Refusal.ENTITIES),
    ("can't parse messageentity", Refusal.ENTITIES),
    ("entity", Refusal.ENTITIES),
    ("entities", Refusal.ENTITIES),
    ("message thread not found", Refusal.THREAD),
    ("topic_deleted", Refusal.THREAD),
)


def refusal(error: BadRequest) -> Refusal:
    """The kind of this refusal."""
    text = error.message.lower()
    return next((kind for part, kind in _TEXTS if part in text), Refusal.OTHER)


def may_have_arrived(error: TelegramError) -> bool:
    """Whether the call may have been carried out despite the error."""
    if isinstance(error, (TooMany, InvalidToken, Forbidden, BadRequest)):
        return False
    if isinstance(error, ServerError):
        return error.code == 504
    return not isinstance(error.__cause__, _NOT_SENT)


def failure(error: TelegramError, editing: bool = False) -> SendFailed:
    """The error for the outbox. Repeating an edit is harmless."""
    if isinstance(error, TooMany):
        return SendLater("flood control", error.seconds)
    if isinstance(error, InvalidToken):
        return token_refused("Telegram")
    if isinstance(error, (Forbidden, BadRequest)):
        return SendRefused(error.message)
    reason = type(error.__cause__).__name__ if error.__cause__ else error.message
    if may_have_arrived(error):
        return unanswered("Telegram", reason, repeatable=editing)
    return SendLater(error.message) if isinstance(error, ServerError) else not_sent("Telegram", reason)
