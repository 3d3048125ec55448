"""JSON files that people edit: errors name file, line and reason; writes are atomic."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from routing.atomic_file import write_text
from routing.config.kinds import FLAG, TEXT, TOKENS, WHOLE, Kind, T, settings
from routing.errors import ConfigError, FileFault, Reason, system_reason

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    D = TypeVar("D", bound=DataclassInstance)

Keys = tuple[str | int, ...]
Document = dict[str, object]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],]|[^\s{}\[\],:"]+')
MAX_DIGITS = 640
"""Python always parses this many; above, the environment can set a limit."""
_NOT_NUMBERS = ("NaN", "Infinity", "-Infinity")


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON object with the line (from 1) of each value; errors call the file `origin`."""

    document: Document
    lines: Mapping[Keys, int]
    origin: str

    def root(self) -> JsonObject:
        return JsonObject(self, (), self.document)

    def fault(self, path: Keys, reason: str, /, **values: object) -> FileFault:
        """An error with the line of `path`, or of its nearest ancestor in the file. `reason` is a template."""
        at = path
        while at and at not in self.lines:
            at = at[:-1]
        place, clause = ".".join(str(part) for part in path), Reason(reason, **values)
        end = "" if clause.endswith("?") else "."
        words = "{file} line {line}: {place} {reason}{end}" if place else "{file} line {line}: {reason}{end}"
        line = str(self.lines.get(at, 1))
        return FileFault(path, words, file=self.origin, line=line, place=place, reason=clause, end=end)

    def without(self, path: Keys) -> JsonFile:
        """The same file without a value, or without the list that contains it; the other lines stay."""
        names = [*takewhile(lambda part: isinstance(part, str), path)]
        document = deepcopy(self.document)
        inside: object = document
        for name in names[:-1]:
            inside = inside.get(name) if isinstance(inside, dict) else None
        if isinstance(inside, dict) and names:
            inside.pop(names[-1], None)
        return JsonFile(document, self.lines, self.origin)


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object inside a file, with its path. A value of the wrong kind raises ConfigError with its line."""

    file: JsonFile
    path: Keys
    values: Document

    def fault(self, key: str | int, reason: str, /, **values: object) -> FileFault:
        """An error about the value of a key. `reason` is a template."""
        return self.file.fault((*self.path, key), reason, **values)

    def child(self, key: str) -> JsonObject | None:
        """The object under a key; None if absent or null."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.fault(key, "must be an object")
        return None if value is None else JsonObject(self.file, (*self.path, key), value)

    def section(self, key: str) -> JsonObject:
        """The object under a key, empty if absent or null."""
        return self.child(key) or JsonObject(self.file, (*self.path, key), {})

    def value(self, key: str, kind: Kind[T], default: T) -> T:
        if key not in self.values:
            return default
        try:
            return kind.read(self.values[key])
        except ValueError:
            raise self.fault(key, kind.rule) from None

    def fill(self, usual: D) -> D:
        """The dataclass `usual` with the settings of this object."""
        given = {name: each for name, each in settings(type(usual)).items() if each.key in self.values}
        return replace(usual, **{name: self.value(each.key, each.kind, None) for name, each in given.items()})

    def flag(self, key: str, default: bool) -> bool:
        return self.value(key, FLAG, default)

    def text(self, key: str, default: str) -> str:
        """A text that is not blank; a blank default makes the key required."""
        if not default.strip() and key not in self.values:
            raise self.fault(key, TEXT.rule)
        return self.value(key, TEXT, default)

    def tokens(self, key: str, default: int) -> int:
        """A positive whole number of tokens."""
        return self.value(key, TOKENS, default)

    def whole(self, key: str, default: int) -> int:
        """A positive whole number."""
        return self.value(key, WHOLE, default)


def load_bounded(path: Path, most_bytes: int) -> JsonFile:
    """Like `load`, for plain files of limited size; a pipe would never end."""
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError("{file} can't be read: {error}.", file=path.name, error=system_reason(error)) from error
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError("{file} is not a file.", file=path.name)
    if found.st_size > most_bytes:
        raise ConfigError("{file} is longer than {limit:,} kB.", file=path.name, limit=most_bytes // 1000)
    return load(path)


def load(path: Path) -> JsonFile:
    """Read and parse. Raises ConfigError if it can't be read, isn't UTF-8 or isn't a JSON object."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError("{file} can't be read: {error}.", file=path.name, error=system_reason(error)) from error
    try:
        return parse(data.decode("utf-8-sig"), path.name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("{file} line {line}: the text is not UTF-8.", file=path.name, line=str(line)) from error


def parse(text: str, origin: str) -> JsonFile:
    """Parse one JSON object. Raises ConfigError for syntax errors, duplicate keys, NaN, Infinity and numbers of more
    than MAX_DIGITS digits."""
    try:
        document = json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        words = "{file} line {line}: not valid JSON, {error}."
        raise ConfigError(words, file=origin, line=str(error.lineno), error=explained(error)) from error
    except RecursionError as error:
        raise ConfigError("{file} line {line}: nested too deeply.", file=origin, line="1") from error
    lines = _locate(text, origin)
    if not isinstance(document, dict):
        words = "{file} line {line}: a JSON object is expected."
        raise ConfigError(words, file=origin, line=str(lines.get((), 1)))
    return JsonFile(document, lines, origin)


SYNTAX: Mapping[str, str] = {
    "Expecting value": "a value is expected",
    "Expecting property name enclosed in double quotes": "a key in double quotes is expected",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Extra data": "there is more text after the end",
    "Unterminated string starting at": "a text has no closing quote",
    "Invalid control character at": "a text has a line break or another control character in it",
    "Invalid \\escape": "a backslash in a text must be doubled",
    "Invalid \\uXXXX escape": "a backslash in a text must be doubled",
    "Illegal trailing comma before end of object": "there is a comma after the last entry",
    "Illegal trailing comma before end of array": "there is a comma after the last entry",
}
"""Explanations for the owner, by Python's message for a syntax error."""


def explained(error: json.JSONDecodeError) -> Reason:
    """What is wrong with a JSON text, as a clause."""
    return Reason(SYNTAX.get(error.msg.removesuffix(": "), error.msg.lower()))


def write(path: Path, document: Mapping[str, object]) -> None:
    """Replace the file, see `routing.atomic_file`."""
    write_text(path, render(document))


def render(document: Mapping[str, object]) -> str:
    """The document as text; keeps the order of keys and non-Latin characters."""
    return dumped(document, 2) + "\n"


def dumped(value: object, indent: int | str | None) -> str:
    """A value as JSON; on one line without an `indent`."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # A lone surrogate is valid as a \u escape in JSON but can't be encoded in UTF-8.
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found.group()):04x}", text)


def _integer(digits: str) -> int:
    """`_locate` refuses the long ones, with their line."""
    return int(digits) if len(digits) <= MAX_DIGITS else 0


def _locate(text: str, origin: str) -> dict[Keys, int]:
    """The line of every value (in objects, of its key). Raises for duplicate keys and what is no number."""
    lines: dict[Keys, int] = {}
    path: list[str | int] = []
    keys: list[set[str] | None] = []
    line, at, key_next = 1, 0, False
    for found in _TOKEN.finditer(text):
        token = found.group()
        line += text.count("\n", at, found.start())
        at = found.start()
        names = keys[-1] if keys else None
        if token in "}]":
            path.pop()
            keys.pop()
        elif token == ",":
            key_next = names is not None
            if not key_next:
                path[-1] = int(path[-1]) + 1
        elif key_next and names is not None:
            key = json.loads(token)
            path[-1], key_next = key, False
            if key in names:
                words = "{file} line {line}: {key} is given twice."
                raise ConfigError(words, file=origin, line=str(line), key=json.dumps(key))
            names.add(key)
            lines[tuple(path)] = line
        else:
            if token in _NOT_NUMBERS:
                words = "{file} line {line}: {token} is not a JSON number."
                raise ConfigError(words, file=origin, line=str(line), token=token)
            lines.setdefault(tuple(path), line)
            if token[0] != '"' and len(token) > MAX_DIGITS:
                raise JsonFile({}, lines, origin).fault(
                    tuple(path), "must have at most {limit:,} digits", limit=MAX_DIGITS
                )
            if token in "{[":
                key_next = token == "{"
                path.append("" if key_next else 0)
                keys.append(set() if key_next else None)
    return lines
