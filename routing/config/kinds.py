"""Kinds of values in JSON files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Generic, TypeVar, get_type_hints
from urllib.parse import urlsplit

from routing.types.model_names import is_model_name

T = TypeVar("T")

MAX_INTEGER = 1_000_000_000
"""Larger numbers are typos. As many MiB, or tokens for MAX_DOLLARS per million, are below 2^63 bytes or
nano-dollars."""
MAX_DOLLARS = 1_000_000
"""Larger amounts are typos, and would approach the limit of nano-dollars in 64 bits."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """`read` returns a value of this kind, or raises ValueError; `rule` says in an error what the value must be."""

    read: Callable[[object], T]
    rule: str


@dataclass(frozen=True, slots=True)
class Setting:
    """Annotates a field of a dataclass that `JsonObject.fill` reads."""

    key: str
    kind: Kind[Any]


@cache
def settings(form: type) -> Mapping[str, Setting]:
    """The settings of a dataclass, by field."""
    hints = get_type_hints(form, include_extras=True).items()
    found = ((name, each) for name, hint in hints for each in getattr(hint, "__metadata__", ()))
    return {name: each for name, each in found if isinstance(each, Setting)}


def keys_of(form: type) -> tuple[str, ...]:
    """The keys that a dataclass is read from."""
    return tuple(each.key for each in settings(form).values())


def kind_of(form: type[T], rule: str, allowed: Callable[[T], bool] = lambda value: True) -> Kind[T]:
    """A value of exactly this type, because true is also an int in Python."""

    def read(value: object) -> T:
        if type(value) is not form or not allowed(value):
            raise ValueError
        return value

    return Kind(read, rule)


def number(rule: str, most: float, zero: bool = False) -> Kind[float]:
    """A number above 0, or also 0 if `zero`, and at most `most`. JSON has larger numbers than float."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not 0 <= value <= most or (value == 0 and not zero):
            raise ValueError
        return float(value)

    return Kind(read, rule)


def dollars(rule: str, zero: bool = False) -> Kind[Decimal]:
    """US dollars, exactly as written, at most MAX_DOLLARS."""
    within = number(rule, MAX_DOLLARS, zero)

    def read(value: object) -> Decimal:
        within.read(value)
        return Decimal(str(value))

    return Kind(read, rule)


def whole(rule: str) -> Kind[int]:
    """A whole number above 0, at most MAX_INTEGER."""
    return kind_of(int, f"{rule}, at most {MAX_INTEGER:,}", lambda value: 0 < value <= MAX_INTEGER)


def one_of(options: Sequence[T]) -> Kind[T]:

    def read(value: object) -> T:
        for each in options:
            if each == value:
                return each
        raise ValueError

    return Kind(read, f"must be one of {', '.join(map(str, options))}")


def optional(kind: Kind[T]) -> Kind[T | None]:
    return Kind(lambda value: None if value is None else kind.read(value), kind.rule)


def _model(value: object) -> str:
    if not isinstance(value, str) or not is_model_name(value.strip()):
        raise ValueError
    return value.strip()


def _text_or_null(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError
    return (value or "").strip() or None


def _address(value: object) -> str | None:
    text = _text_or_null(value)
    if text is not None:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError
        _ = parts.port  # raises ValueError unless it is a port
    return text


FLAG = kind_of(bool, "must be true or false")
TEXT = kind_of(str, "must be a non-empty string", lambda value: value.strip() != "")
WHOLE = whole("must be a whole number above 0")
TOKENS = whole("must be a whole number of tokens above 0")
TEMPERATURE = number("must be a number from 0 to 2", 2, zero=True)
MODEL = Kind(_model, "must look like provider/model")
TEXT_OR_NULL = Kind(_text_or_null, "must be a string or null")
ADDRESS = Kind(_address, "must be an http:// or https:// address without a password")
