"""Conversions between values and JSON text, and between money and integer nano-dollars."""

from __future__ import annotations

from decimal import Decimal
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from routing.types.llm import ToolCall
from routing.types.messages import Attachment, InboundMessage, OutboundMessage, OutgoingFile
from routing.types.turns import TurnSettings

T = TypeVar("T")
NANO = Decimal(1_000_000_000)


class Codec(Generic[T]):
    """Converts one type to and from JSON text. Fields with default values are left out."""

    def __init__(self, adapter: TypeAdapter[T]) -> None:
        self._adapter = adapter

    def dump(self, value: T) -> str:
        return self._adapter.dump_json(value, exclude_defaults=True).decode()

    def load(self, text: str) -> T:
        return self._adapter.validate_json(text)


INBOUND = Codec(TypeAdapter(InboundMessage))
INBOUNDS = Codec(TypeAdapter(tuple[InboundMessage, ...]))
OUTBOUND = Codec(TypeAdapter(OutboundMessage))
FILES = Codec(TypeAdapter(tuple[OutgoingFile, ...]))
PICTURES = Codec(TypeAdapter(tuple[Attachment, ...]))
CALLS = Codec(TypeAdapter(tuple[ToolCall, ...]))
FIXED = Codec(TypeAdapter(TurnSettings))
DETAILS = Codec(TypeAdapter(dict[str, str]))
NAMES = Codec(TypeAdapter(tuple[str, ...]))


def nano(cost: Decimal | None) -> int | None:
    """Nano-dollars, rounded to an integer; None stays None (unknown)."""
    return None if cost is None else int((cost * NANO).to_integral_value())


def dollars(nano_dollars: int | None) -> Decimal:
    """US dollars; None counts as zero."""
    return Decimal(nano_dollars or 0) / NANO
