"""Logging: one line per record, with the id of its turn and without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import indent
from types import TracebackType
from typing import Literal, TextIO

from routing.redaction import Secrets, masked
from routing.tracing import turn_id

_QUIET = ("httpx", "httpcore", "telegram", "aiohttp.access", "LiteLLM", "openai", "asyncio", "alembic")

DELAY_SECONDS = 0.05
"""Wait of a line below WARNING, or longer while the loop is blocked."""


MAX_RECENT, MAX_RECENT_CHARACTERS = 500, 2_000
"""How many lines are kept in memory, and how much of each."""


@dataclass(frozen=True, slots=True)
class RecentLine:
    """A log line as it was written; `level` is logging's number."""

    level: int
    text: str


class Redactor(logging.Filter):
    """Removes known secrets, and text that looks like one, from records, and adds the turn's id. From INFO up,
    tracebacks lack the errors' messages, which may repeat what people wrote."""

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
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.levelno >= logging.INFO:
            record.exc_text = "".join(_traceback(error)).rstrip()
            if record.name == "asyncio":  # its other lines show the error with its message
                record.msg = str(record.msg).partition("\n")[0]
        return True


def _traceback(error: BaseException) -> Iterator[str]:
    """The lines of a traceback without the errors' messages. An OSError has the system's text, without file names."""
    chain: dict[int, BaseException] = {}
    each: BaseException | None = error
    while each is not None and id(each) not in chain:
        chain[id(each)] = each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    for each in reversed(chain.values()):
        yield "Traceback (most recent call last):\n"
        yield from traceback.format_tb(each.__traceback__)
        reason = f" ({os.strerror(each.errno)})" if isinstance(each, OSError) and each.errno else ""
        yield f"{type(each).__qualname__}{reason}\n"
        if isinstance(each, BaseExceptionGroup):
            for member in each.exceptions:
                yield indent("".join(_traceback(member)), "  | ")


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
            line["error"] = self._redactor.clean(record.exc_text or self.formatException(record.exc_info))
        return self._redactor.clean(json.dumps(line, ensure_ascii=False))


class GroupingHandler(logging.StreamHandler[io.StringIO]):
    """Writes the lines of an event loop together. Each write lets other threads run, which costs the loop more than the
    line. Warnings and lines of other threads are written at once, after those that wait."""

    def __init__(self, target: TextIO) -> None:
        super().__init__(io.StringIO())
        self._target = target
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop that will write the waiting lines."""
        self._urgent = False
        self.recent: deque[RecentLine] = deque(maxlen=MAX_RECENT)
        """The newest lines from INFO on; DEBUG lines may hold what people wrote."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        if record.levelno >= logging.INFO:
            self.recent.append(RecentLine(record.levelno, line[:MAX_RECENT_CHARACTERS]))
        return line

    def emit(self, record: logging.LogRecord) -> None:
        self._urgent = record.levelno >= logging.WARNING
        super().emit(record)
        if record.exc_info and record.levelno > logging.DEBUG:
            logging.getLogger(record.name).debug("The same error with its message:", exc_info=record.exc_info)

    def flush(self) -> None:
        """Called after each record, and at the end of the process."""
        loop = None if self._urgent else _running_loop()
        if loop is None:
            self._write()
        elif self._loop is not loop:
            self._loop = loop
            loop.call_later(DELAY_SECONDS, self._write)

    def _write(self) -> None:
        self.acquire()
        try:
            self._loop = None
            waiting = self.stream.getvalue()
            self.stream.seek(0)
            self.stream.truncate()
            self._target.write(waiting)
            self._target.flush()
        finally:
            self.release()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def recent_lines() -> tuple[RecentLine, ...]:
    """The newest log lines, oldest first, without secrets; none before `configure`."""
    ours = (each for each in logging.getLogger().handlers if isinstance(each, GroupingHandler))
    return tuple(line for handler in ours for line in tuple(handler.recent))


def configure(level: str, style: Literal["text", "json"], secrets: Iterable[str]) -> Redactor:
    """Log to standard error, also crashes of the process and of threads. Libraries log from WARNING on, because their
    INFO lines contain tokens."""
    redactor = Redactor(secrets)
    handler = GroupingHandler(sys.stderr)
    handler.addFilter(redactor)
    handler.setFormatter(_Json(redactor) if style == "json" else _Text(redactor))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    sys.excepthook = _crashed
    threading.excepthook = lambda crash: _crashed(crash.exc_type, crash.exc_value, crash.exc_traceback)
    return redactor


def _crashed(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Log an error that nothing has caught. Python would write its message. A thread that exits is no error."""
    if error is not None and kind is not SystemExit:
        words = "Unexpected error. LOG_LEVEL=DEBUG also shows its message, which may be private."
        logging.getLogger("bot").critical(words, exc_info=(kind, error, trace))
