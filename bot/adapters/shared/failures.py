"""What the outbox is told about a failed call; the rules are the same on every platform."""

from __future__ import annotations

from bot.platform import SendLater

AMBIGUOUS_SECONDS = 30.0
"""Pause before a reply that may have arrived is sent again."""
REVOKED_SECONDS = 60.0
"""Pause after the platform refused the token."""


def token_refused(platform: str) -> SendLater:
    """The owner has to set a valid token."""
    return SendLater(f"{platform} refuses the token", REVOKED_SECONDS)


def not_sent(platform: str, reason: str) -> SendLater:
    """The request never reached the platform."""
    return SendLater(f"no connection to {platform} ({reason})")


def unanswered(platform: str, reason: str, repeatable: bool, protected: bool = False) -> SendLater:
    """The request may have been carried out.

    `repeatable`: an edit, which does no harm twice. `protected`: the platform discards a second copy if it comes soon.
    """
    said = f"no answer from {platform} ({reason})"
    if repeatable:
        return SendLater(said)
    return SendLater(said, None if protected else AMBIGUOUS_SECONDS, maybe_sent=True, protected=protected)
