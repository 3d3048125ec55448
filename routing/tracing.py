"""The turn that a log line belongs to, and spans around the steps of a message. Without a tracer they cost nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Self

turn_id: ContextVar[str] = ContextVar("turn_id", default="-")

Attributes = Mapping[str, str | int | float | bool]
"""They leave this machine, so they hold no text of messages, no arguments, and no ids of people or chats."""


class Span:
    """A context manager around one step. Spans that begin inside it are its children. This one records nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def set(self, attributes: Attributes) -> None:
        """Add what is known only now."""


class Tracer(ABC):
    """Sends spans to a collector. Must not block."""

    @abstractmethod
    def span(self, name: str, attributes: Attributes, parent: object | None) -> Span: ...

    @abstractmethod
    def current(self) -> object:
        """The current span, as a `parent` for work in another task."""


_NO_SPAN = Span()
_NOTHING: Attributes = {}
_tracer: Tracer | None = None


def trace_with(tracer: Tracer | None) -> None:
    """From now on, spans go to this tracer; None: to none."""
    global _tracer
    _tracer = tracer


def span(name: str, attributes: Attributes = _NOTHING, parent: object | None = None) -> Span:
    """A span; a child of the current one unless `parent` is given."""
    return _NO_SPAN if _tracer is None else _tracer.span(name, attributes, parent)


def current_span() -> object | None:
    """The current span, as a `parent` for work in another task; None without a tracer."""
    return None if _tracer is None else _tracer.current()
