"""What is wrong with receiving, said once, and how long to wait before the next try."""

from __future__ import annotations

import logging

from telegram.error import Conflict, InvalidToken, TelegramError

from bot.adapters.telegram.api import TooMany
from bot.adapters.telegram.options import Pace
from bot.platform import Progress
from routing.errors import Reason, TierbotError

log = logging.getLogger(__name__)

OTHER_POLLER = Reason("another program is polling with this token; stop it, or give this bot its own token")
OTHER_WEBHOOK = Reason("another program has set a webhook for this token; stop it and restart this bot")
REVOKED = Reason("Telegram refuses the token; set a valid TELEGRAM_BOT_TOKEN and restart")


class Trouble:
    """Logs each kind once, keeps it in `progress`; the waits grow until `over`."""

    def __init__(self, progress: Progress, pace: Pace) -> None:
        self._progress = progress
        self._pace = pace
        self._streak = 0

    def over(self) -> None:
        self._streak = 0
        if self._progress.trouble:
            log.info("Telegram works again")
            self._progress.trouble = ""

    def with_accepting(self, error: Exception) -> float:
        """Seconds to wait after messages could not be kept."""
        why = str(error).rstrip(".") if isinstance(error, TierbotError) else type(error).__name__
        self._tell(Reason("updates can't be saved ({error}); nothing is acknowledged until they can", error=why))
        return self._growing(self._pace.backoff, self._pace.longest_backoff)

    def with_call(self, error: TelegramError) -> float:
        """Seconds to wait after a call failed."""
        pace = self._pace
        if isinstance(error, TooMany):
            return error.seconds
        if isinstance(error, Conflict):
            self._tell(OTHER_WEBHOOK if "webhook" in error.message else OTHER_POLLER)
            return self._growing(pace.conflict, pace.longest_conflict)
        if isinstance(error, InvalidToken):
            self._tell(REVOKED)
            return pace.revoked
        reason = type(error.__cause__).__name__ if error.__cause__ else error.message
        self._tell(Reason("no connection to Telegram ({error})", error=reason), logging.WARNING)
        return self._growing(pace.backoff, pace.longest_backoff)

    def _growing(self, first: float, longest: float) -> float:
        self._streak += 1
        return min(first * 2.0 ** min(self._streak - 1, 10), longest)

    def _tell(self, text: str, level: int = logging.ERROR) -> None:
        if self._progress.trouble.partition("(")[0] != text.partition("(")[0]:
            self._streak = 0
            log.log(level, "Telegram: %s", text)
        self._progress.trouble = text
