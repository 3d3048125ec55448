"""Reads fields of hand-written JSON files. Errors name the file, the line and the field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from routing.config.jsonfile import JsonFile, JsonObject, Keys
from routing.errors import ConfigError, Reason
from routing.text import nearest


def check_known(section: JsonObject, known: Iterable[str]) -> None:
    """Raises ConfigError for unknown fields."""
    for key in section.values:
        if key not in known:
            raise section.file.fault((*section.path, key), "is not a known field{hint}", hint=did_you_mean(key, known))


def did_you_mean(word: str, known: Iterable[str]) -> Reason | str:
    """`; did you mean …?`, or nothing if no name is similar."""
    near = nearest(word, known)
    return Reason("; did you mean {name}?", name=near) if near else ""


def required_text(section: JsonObject, key: str) -> str:
    """A required text."""
    if key not in section.values:
        raise section.file.fault((*section.path, key), "is missing: it must be a non-empty string")
    return section.text(key, "").strip()


def category_in(section: JsonObject) -> str:
    """The optional category; empty if absent."""
    return section.text("category", "").strip() if "category" in section.values else ""


def texts(section: JsonObject, key: str) -> tuple[str, ...]:
    """A list of non-blank texts; empty if absent."""
    return listed(section.file, (*section.path, key), section.values.get(key, []))


def listed(file: JsonFile, path: Keys, value: object) -> tuple[str, ...]:
    """The same for a value that was already read."""
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise file.fault(path, "must be a list of non-empty strings")
    return tuple(dict.fromkeys(each.strip() for each in value))


def objects(section: JsonObject, key: str) -> tuple[JsonObject, ...]:
    """A list of at least one object."""
    path, value = (*section.path, key), section.values.get(key)
    if value is None:
        raise section.file.fault(path, "is missing: it must be a list of objects")
    if not isinstance(value, list) or not value:
        raise section.file.fault(path, "must be a list of objects, at least one")
    for index, each in enumerate(value):
        if not isinstance(each, dict):
            raise section.file.fault((*path, index), "must be an object")
    return tuple(JsonObject(section.file, (*path, index), each) for index, each in enumerate(value))


@contextmanager
def fault_at_name(section: JsonObject) -> Iterator[None]:
    """Attributes errors raised in the block to the field `name`."""
    try:
        yield
    except ConfigError as error:
        lines = section.file.lines
        line = lines.get((*section.path, "name"), lines.get(section.path, 1))
        place = {"file": section.file.origin, "line": str(line)}
        raise ConfigError("{file} line {line}: {reason}", **place, reason=error.reason) from None
