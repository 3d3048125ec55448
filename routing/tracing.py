"""The turn that a log line belongs to."""

from contextvars import ContextVar

turn_id: ContextVar[str] = ContextVar("turn_id", default="-")
