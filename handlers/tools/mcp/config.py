"""Reads `mcp.json`, a format shared with other programs.

An invalid entry becomes a server with a `fault`, and the others work. Unknown fields are reported but allowed, because
other programs add their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote_plus, urlsplit

from rapidfuzz import process

from routing.config import jsonfile
from routing.config.jsonfile import JsonObject
from routing.config.kinds import Kind, number, one_of
from routing.errors import NO_REASON, ConfigError, Reason
from routing.redaction import spellings
from routing.text import storable
from routing.types.people import Role

ROLES: tuple[Role, ...] = ("user", "admin", "owner")
SERVERS = "mcpServers"
CALL_SECONDS = 30.0
MAX_CALL_SECONDS = 3600
MAX_FILE_BYTES = 1_000_000
INHERITED = ("PATH", "HOME", "LANG")
"""The only variables that a child inherits from the bot's environment."""


def _strings(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError
    return value


ROLE = one_of(ROLES)
STRINGS = Kind(_strings, "must be a list of strings")
ALLOWED: Kind[frozenset[str] | None] = Kind(
    lambda value: None if value is True else frozenset(_strings(value)),
    "must be a list of this server's tools that need no confirmation, or true for all",
)
SECONDS = number(f"must be seconds, at most {MAX_CALL_SECONDS} (some programs count milliseconds)", MAX_CALL_SECONDS)

_FIELDS = ("command", "args", "env", "cwd", "url", "headers", "role", "allow", "private", "disabled", "timeout", "type")
_TYPES = ("stdio", "http", "streamable-http", "streamableHttp")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
_SECRET_FLAG = re.compile(r"--?[\w-]*(?:key|token|secret|password|auth)(?:=|$)", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110."""
_MIN_SIMILARITY = 55
_MIN_SECRET_CHARACTERS = 6


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one server, in seconds, bytes and characters. A server's `timeout` limits its calls, and its start if
    that is longer."""

    start_seconds: float = 20.0
    first_delay: float = 1.0
    longest_delay: float = 300.0
    steady_seconds: float = 30.0
    """A connection of this length resets the delay to `first_delay`."""
    debounce_seconds: float = 0.5
    refresh_seconds: float = 5.0
    """Minimum time between two lists of tools, however often a server reports changes."""
    reading_seconds: float = 10.0
    """Maximum time for checking the tools of one list; the rest is left out."""
    end_seconds: float = 2.0
    """Maximum time for a child to end after its stdin is closed, and again after SIGTERM."""
    message_bytes: int = 4_000_000
    """One JSON message: it takes about 30 ms to parse."""
    suspect_seconds: float = 60.0
    """Minimum time between two failures of tools that make the bot ask for a new list."""
    result_chars: int = 1_000_000
    tools: int = 1_000
    pages: int = 100
    description_chars: int = 4_096
    schema_chars: int = 32_768
    messages_per_second: float = 500.0
    bytes_per_second: float = 4_000_000.0
    burst_seconds: float = 4.0
    """Burst allowed by the two rates above. The rest is read later, and the server waits."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Command:
    """A child process that communicates over stdin and stdout, with exactly this environment."""

    arguments: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    folder: Path


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server over streamable HTTP."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Server:
    """One entry. `seconds` limits a call, `role` is the lowest that may use the server, `fault` says why it can't be
    used. The tools in `allow`, by their names at the server, need no confirmation; None means all tools. `private`: its
    results show what only the asking person may see."""

    name: str
    reached: Command | Endpoint | None = None
    role: Role = "owner"
    disabled: bool = False
    seconds: float = CALL_SECONDS
    fault: Reason = NO_REASON
    secrets: tuple[str, ...] = field(default=(), repr=False)
    allow: frozenset[str] | None = frozenset()
    private: bool = False

    def hidden(self, text: str) -> str:
        """The text without its secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "•••")
        return text


@dataclass(frozen=True, slots=True)
class Servers:
    """The contents of the file; `problems` are sentences with file and line."""

    found: Mapping[str, Server]
    problems: tuple[Reason, ...] = ()


def read_servers(path: Path, environment: Mapping[str, str]) -> Servers:
    """Read the file, in a thread; a missing one has no servers. Raises ConfigError."""
    if not path.exists():
        return Servers({})
    root = jsonfile.load_bounded(path, MAX_FILE_BYTES).root()
    problems = _unknown(root, (SERVERS,))
    found = {}
    if listed := root.child(SERVERS):
        for name, entry in listed.values.items():
            server = _server(listed, name, environment, path.parent)
            found[server.name] = server
            if isinstance(entry, dict) and not server.fault:
                problems += _unknown(JsonObject(listed.file, (*listed.path, name), entry), _FIELDS)
    return Servers(found, tuple(problems))


def _unknown(section: JsonObject, known: Collection[str]) -> list[Reason]:
    problems = []
    for key in (each for each in section.values if each not in known):
        nearest = process.extractOne(key, known, score_cutoff=_MIN_SIMILARITY)
        hint = Reason("; did you mean {name}?", name=nearest[0]) if nearest else ""
        fault = section.file.fault((*section.path, key), "is not known and has no effect{hint}", hint=hint)
        problems.append(fault.reason)
    return problems


def _server(listed: JsonObject, name: str, environment: Mapping[str, str], folder: Path) -> Server:
    server = Server(storable(name))
    try:
        section = listed.child(name)
        if section is None:
            raise listed.file.fault((*listed.path, name), "must be an object")
        text = json.dumps({name: section.values}, ensure_ascii=False)
        if "\\u0000" in text:
            raise listed.file.fault(section.path, "has a NUL character in it, which no program takes")
        if storable(text) != text:
            raise listed.file.fault((*listed.path, server.name), "contains half a character (a lone surrogate)")
        server = replace(
            server,
            disabled=section.flag("disabled", False),
            role=section.value("role", ROLE, "owner"),
            seconds=section.value("timeout", SECONDS, CALL_SECONDS),
            allow=section.value("allow", ALLOWED, frozenset()),
            private=section.flag("private", False),
        )
        if server.disabled:
            return server
        is_endpoint = _is_endpoint(section)
        return (_with_endpoint if is_endpoint else _with_command)(server, section, environment, folder)
    except ConfigError as error:
        return replace(server, fault=error.reason)


def _is_endpoint(section: JsonObject) -> bool:
    kind = section.values.get("type", "stdio" if "command" in section.values else "http")
    if kind == "sse":
        raise _fault(section, "type", "is the old transport of 2024; use the server's streamable HTTP url")
    if kind not in _TYPES:
        raise _fault(section, "type", "must be one of {choices}", choices=", ".join(_TYPES[:2]))
    if ("command" in section.values) == ("url" in section.values):
        if unknown := _unknown(section, _FIELDS):
            raise _fault(section, "", "must have either command or url ({problem})", problem=unknown[0])
        raise _fault(section, "", "must have either command or url")
    return "url" in section.values


def _with_endpoint(server: Server, section: JsonObject, environment: Mapping[str, str], _: Path) -> Server:
    written = section.text("url", "")
    url = _expanded(section, "url", written, environment)
    headers = _texts(section, "headers", environment)
    for key, fault in (("url", _url_fault(url)), ("headers", _header_fault(headers))):
        if fault:
            raise _fault(section, key, fault.template, **fault.values)
    secrets = _secrets([*headers.values(), *_url_secrets(url), *_variables(written, environment)])
    return replace(server, reached=Endpoint(url, headers), secrets=secrets)


def _with_command(server: Server, section: JsonObject, environment: Mapping[str, str], folder: Path) -> Server:
    words = [section.text("command", ""), *section.value("args", STRINGS, [])]
    own = _texts(section, "env", environment)
    wrong = next((name for name in own if not name or "=" in name), None)
    if wrong is not None:
        raise _fault(section, "env", "has a name that no variable has: {name!r}", name=wrong[:40])
    inherited = {key: environment[key] for key in INHERITED if key in environment}
    arguments = tuple(_expanded(section, "args", word, environment) for word in words)
    changed = [after for before, after in zip(words, arguments, strict=True) if before != after]
    given = [value for word in words for value in _variables(word, environment)]
    return replace(
        server,
        reached=Command(arguments, {**inherited, **own}, folder / section.text("cwd", ".")),
        secrets=_secrets([*own.values(), *changed, *given, *_flag_secrets(arguments)]),
    )


def _url_fault(url: str) -> Reason | None:
    """Never quotes the URL, which may hold a secret."""
    if not re.match(r"https?://[^/\s]", url):
        return Reason("must begin with http:// or https://")
    if not url.isprintable() or " " in url:
        return Reason("contains a blank or a character that no address may contain")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return Reason("is not an address ({error})", error=error)
    return None if host else Reason("names no host")


def _header_fault(headers: Mapping[str, str]) -> Reason | None:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            return Reason("has a name that no header has: {name!r}", name=name[:40])
        if not value.isascii() or not value.isprintable():
            words = "has a value for {name} with characters that no header may contain: was it pasted wrongly?"
            return Reason(words, name=name)
    return None


def _secrets(values: Collection[str]) -> tuple[str, ...]:
    """Longest first. `Bearer abcdef` also yields the token alone."""
    plain = {word for value in values for word in (value, *value.split()) if len(word) >= _MIN_SECRET_CHARACTERS}
    words = {spelling for word in plain for spelling in spellings(word)}
    return tuple(sorted(words, key=lambda word: (-len(word), word)))


def _variables(text: str, environment: Mapping[str, str]) -> list[str]:
    """The values of the variables in a text."""
    return [environment.get(found[1]) or found[2] or "" for found in _VARIABLE.finditer(text)]


def _flag_secrets(arguments: Sequence[str]) -> list[str]:
    """The values of `--api-key`, `--token=` and the like."""
    pairs = pairwise([*arguments, ""])
    return [word.partition("=")[2] or following for word, following in pairs if _SECRET_FLAG.match(word)]


def _url_secrets(url: str) -> list[str]:
    """User, password and the values of the query."""
    parts = urlsplit(url)
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    values = [each.partition("=")[2] for each in parts.query.split("&")]
    return [spelling for part in (user, password, *values) for spelling in (part, unquote_plus(part))]


def _texts(section: JsonObject, key: str, environment: Mapping[str, str]) -> dict[str, str]:
    child = section.child(key)
    found = {}
    for name, value in child.values.items() if child else ():
        if not isinstance(value, str):
            raise _fault(section, key, "must only have strings; {name} is not one", name=name)
        found[name] = _expanded(section, key, value, environment)
    return found


def _expanded(section: JsonObject, key: str, text: str, environment: Mapping[str, str]) -> str:
    """The text with `${NAME}`, `${NAME:-otherwise}` and `${env:NAME}` replaced."""

    def value(found: re.Match[str]) -> str:
        given = environment.get(found[1]) or found[2]
        if given is None:
            words = "names the variable {variable}, which is not set in the environment"
            raise _fault(section, key, words, variable=found[1])
        return given

    return _VARIABLE.sub(value, text)


def _fault(section: JsonObject, key: str, reason: str, /, **values: object) -> ConfigError:
    return section.file.fault((*section.path, key) if key else section.path, reason, **values)
