"""Logging: one line per record, with the id of its turn and without secrets."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable
from typing import Literal

from routing.redaction import Secrets, masked
from routing.tracing import turn_id

_QUIET = ("httpx", "httpcore", "telegram", "aiohttp.access", "LiteLLM", "openai", "asyncio", "alembic")


class Redactor(logging.Filter):
    """Removes known secrets, and text that looks like one, from records, and adds the turn's id."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = Secrets(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Add secrets that became known later."""
        self._secrets.add(secrets)

    def clean(self, text: str) -> str:
        """Replace secrets in a text."""
        return masked(self._secrets.hidden(text))

    def filter(self, record: logging.LogRecord) -> bool:
        record.turn = turn_id.get()
        return True


class _Text(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(turn)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.clean(super().format(record))


class _Json(logging.Formatter):
    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname,
            "turn": getattr(record, "turn", "-"),
            "name": record.name,
            # Cleaned before JSON encoding, which would escape quotation marks in a secret.
            "message": self._redactor.clean(record.getMessage()),
        }
        if record.exc_info:
            line["error"] = self._redactor.clean(self.formatException(record.exc_info))
        return self._redactor.clean(json.dumps(line, ensure_ascii=False))


def configure(level: str, style: Literal["text", "json"], secrets: Iterable[str]) -> Redactor:
    """Log to standard error. Libraries log from WARNING on, because their INFO lines contain tokens."""
    redactor = Redactor(secrets)
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(redactor)
    handler.setFormatter(_Json(redactor) if style == "json" else _Text(redactor))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    return redactor
