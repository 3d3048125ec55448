"""What a failed call means for the reply that it carried."""

from __future__ import annotations

import asyncio
from enum import Enum, auto

import aiohttp
import discord

from bot.platform import SendFailed, SendLater, SendRefused

AMBIGUOUS = 30.0  # seconds before a reply that may have arrived, and that nothing protects, is sent again
REVOKED = 60.0
UNKNOWN_WEBHOOK = 10015  # an interaction that nothing has answered yet, too
_BLOCKED = 60.0  # seconds to wait after a 429 that does not say how long
# Raised before a request has left. A proxy that refuses is an answer of the proxy's.
_NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)
TROUBLES = (discord.DiscordException, aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""All that a call raises when it did not work."""


class Offline(discord.DiscordException):
    """The client has not logged in yet, or has ended: nothing was sent."""


class Refusal(Enum):
    """The refusals that are told apart."""

    NOT_EDITABLE = auto()
    REFERENCE = auto()
    ORIGIN = auto()
    CHANNEL = auto()
    PERSON = auto()
    FILE = auto()
    OTHER = auto()


_CODES = {
    10003: Refusal.CHANNEL,
    10008: Refusal.NOT_EDITABLE,
    30046: Refusal.NOT_EDITABLE,  # too many edits of a message older than an hour
    50005: Refusal.NOT_EDITABLE,
    50083: Refusal.NOT_EDITABLE,  # an archived thread; a new message opens it again
    160002: Refusal.REFERENCE,
    UNKNOWN_WEBHOOK: Refusal.ORIGIN,
    50007: Refusal.PERSON,
    50278: Refusal.PERSON,
    10062: Refusal.ORIGIN,
    40094: Refusal.ORIGIN,  # no more follow-ups
    50027: Refusal.ORIGIN,
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
    """Which 4xx this is."""
    if error.code == 50035 and "message_reference" in error.text:
        return Refusal.REFERENCE
    return Refusal.FILE if error.status == 413 else _CODES.get(error.code, Refusal.OTHER)


def reason(error: BaseException) -> str:
    """One clause for the owner, free of secrets: what is wrong and, where it is a permission, which one."""
    if isinstance(error, discord.HTTPException):
        said = " ".join(error.text.split()) if not error.text.lstrip().startswith("<") else ""
        return REASONS.get(error.code) or said or f"Discord answered {error.status}"
    return str(error) if isinstance(error, Offline) else type(error).__name__


def may_have_arrived(error: BaseException) -> bool:
    """Whether the call may have been carried out although it failed."""
    if isinstance(error, discord.HTTPException):
        return error.status >= 500 and error.status not in (502, 503)
    return not isinstance(error, (Offline, discord.RateLimited, *_NOT_SENT))


def failure(error: BaseException, repeatable: bool, protected: bool = False) -> SendFailed:
    """What the outbox is told. `repeatable`: an edit, which does no harm twice; `protected`: a nonce keeps a second
    message from appearing while it is young."""
    if isinstance(error, Offline):
        return SendLater(reason(error))
    if isinstance(error, discord.RateLimited):
        return SendLater("Discord's rate limit", error.retry_after)
    if isinstance(error, discord.HTTPException) and error.status < 500:
        return _refused(error)
    if not may_have_arrived(error):
        return SendLater(f"no connection to Discord ({reason(error)})")
    said = f"no answer from Discord ({reason(error)})"
    if repeatable:
        return SendLater(said)
    return SendLater(said, None if protected else AMBIGUOUS, maybe_sent=True, protected=protected)


def _refused(error: discord.HTTPException) -> SendFailed:
    if error.status == 429:
        return SendLater("Discord's rate limit", retry_after(error))
    if error.status == 401:
        return SendLater("Discord refuses the token", REVOKED)
    return SendRefused(reason(error))


def retry_after(error: discord.HTTPException) -> float:
    """Seconds, as a 429 says that the library did not sit out: one of the proxy before the API."""
    try:
        return max(float(error.response.headers["Retry-After"]), 1.0)
    except (KeyError, ValueError):
        return _BLOCKED
