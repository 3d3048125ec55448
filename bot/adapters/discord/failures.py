"""What a failed Discord call means for the reply it carried."""

from __future__ import annotations

import asyncio
from enum import Enum, auto

import aiohttp
import discord

from bot.adapters.shared.outbound import NOT_SENT, not_sent, token_refused, unanswered
from bot.platform import SendFailed, SendLater, SendRefused
from routing.errors import Reason

UNKNOWN_WEBHOOK = 10015  # also an interaction that has not been acknowledged yet
_DEFAULT_RETRY = 60.0  # wait in seconds after a 429 without a time
CALL_ERRORS = (discord.DiscordException, aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""All errors that a call can raise."""


class Offline(discord.DiscordException):
    """The client is not logged in or has stopped, so nothing was sent."""


class Refusal(Enum):
    """Kinds of refusals that need different handling."""

    NOT_EDITABLE = auto()
    REFERENCE = auto()
    INTERACTION = auto()
    CHANNEL = auto()
    PERSON = auto()
    FILE = auto()
    OTHER = auto()


_CODES = {
    10003: Refusal.CHANNEL,
    10008: Refusal.NOT_EDITABLE,
    30046: Refusal.NOT_EDITABLE,  # too many edits of a message older than an hour
    50005: Refusal.NOT_EDITABLE,
    50083: Refusal.NOT_EDITABLE,  # an archived thread; a new message reopens it
    160002: Refusal.REFERENCE,
    UNKNOWN_WEBHOOK: Refusal.INTERACTION,
    10062: Refusal.INTERACTION,
    40094: Refusal.INTERACTION,  # no more follow-ups
    50027: Refusal.INTERACTION,
    50007: Refusal.PERSON,
    50278: Refusal.PERSON,
    40005: Refusal.FILE,
}
REASONS = {
    10003: "the channel is gone",
    10004: "the bot was removed from that server",
    50001: "the bot can't see that channel (it lacks the View Channel permission), or it was removed from the server",
    50007: "this person doesn't accept direct messages from the bot",
    50278: "this person shares no server with the bot",
    50013: "the bot can't write in that channel (it lacks Send Messages, in a thread Send Messages in Threads)",
    50083: "the thread is archived and locked",
    160005: "the thread is locked",
}


def refusal(error: discord.HTTPException) -> Refusal:
    """The kind of a 4xx."""
    if error.code == 50035 and "message_reference" in error.text:
        return Refusal.REFERENCE
    return Refusal.FILE if error.status == 413 else _CODES.get(error.code, Refusal.OTHER)


def refused_as(error: BaseException, *kinds: Refusal) -> bool:
    """Whether Discord refused the call in one of these ways."""
    return isinstance(error, discord.HTTPException) and refusal(error) in kinds


def reason(error: BaseException) -> str:
    """The reason for an error in one clause for the owner, without secrets; names a missing permission."""
    if isinstance(error, discord.HTTPException):
        message = " ".join(error.text.split()) if not error.text.lstrip().startswith("<") else ""
        return REASONS.get(error.code) or message or Reason("Discord answered {status}", status=str(error.status))
    return str(error) if isinstance(error, Offline) else type(error).__name__


def may_have_arrived(error: BaseException) -> bool:
    """Whether the call may have been carried out despite the error."""
    if isinstance(error, discord.HTTPException):
        return error.status >= 500 and error.status not in (502, 503)
    return not isinstance(error, (Offline, discord.RateLimited, *NOT_SENT))


def failure(error: BaseException, repeatable: bool, protected: bool = False) -> SendFailed:
    """The error for the outbox; see `shared.outbound.unanswered` for the flags."""
    if isinstance(error, Offline):
        return SendLater(reason(error))
    if isinstance(error, discord.RateLimited):
        return SendLater("Discord's rate limit", error.retry_after)
    if isinstance(error, discord.HTTPException) and error.status < 500:
        if error.status == 429:
            return SendLater("Discord's rate limit", retry_after(error))
        return token_refused("Discord") if error.status == 401 else SendRefused(reason(error))
    if not may_have_arrived(error):
        return not_sent("Discord", reason(error))
    return unanswered("Discord", reason(error), repeatable, protected)


def retry_after(error: discord.HTTPException) -> float:
    """Seconds to wait after a 429 that the library did not wait out, such as one from a proxy."""
    try:
        return max(float(error.response.headers["Retry-After"]), 1.0)
    except (KeyError, ValueError):
        return _DEFAULT_RETRY
