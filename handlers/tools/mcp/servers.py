"""The servers of `mcp.json`, in the form that other programs read, too.

A server that is written wrongly is one with a `fault`; the others work. What nobody here knows is named, not refused:
other programs keep fields of their own in such a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote_plus, urlsplit

from rapidfuzz import process

from handlers.tools.mcp.entries import header_fault, unsayable, url_fault, variable_fault
from routing.config import jsonfile
from routing.config.jsonfile import JsonObject
from routing.errors import ConfigError
from routing.redaction import spellings
from routing.text import storable
from routing.types.people import Role

ROLES: tuple[Role, ...] = ("user", "admin", "owner")

FILE = "mcp.json"
SERVERS = "mcpServers"
CALL_SECONDS = 30.0
MOST_SECONDS = 3600
MOST_BYTES = 1_000_000
INHERITED = ("PATH", "HOME", "LANG")
"""All that a child gets of the bot's environment."""

_FIELDS = ("command", "args", "env", "cwd", "url", "headers", "role", "allow", "disabled", "timeout", "type")
_TYPES = ("stdio", "http", "streamable-http", "streamableHttp")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}")
_FLAG = re.compile(r"--?[\w-]*(?:key|token|secret|password|auth)(?:=|$)", re.IGNORECASE)
_NEAR_ENOUGH = 55
_SHORTEST_SECRET = 6


@dataclass(frozen=True, slots=True)
class Command:
    """A child that speaks over its stdin and stdout; `environment` is all that it gets."""

    arguments: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    folder: Path


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that is reached by streamable HTTP."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Server:
    """One entry. `seconds` is a call's limit; everybody from `role` up may use it; `fault` is why it can't be used;
    `secrets` must never be shown. The tools in `allow`, by their names at the server, run without a confirmation (None:
    all of them)."""

    name: str
    reached: Command | Endpoint | None = None
    role: Role = "owner"
    disabled: bool = False
    seconds: float = CALL_SECONDS
    fault: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    allow: frozenset[str] | None = frozenset()

    def hidden(self, text: str) -> str:
        """The text without its secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "•••")
        return text


@dataclass(frozen=True, slots=True)
class Servers:
    """What the file says; `problems` are sentences with file and line."""

    found: Mapping[str, Server]
    problems: tuple[str, ...] = ()


def read_servers(path: Path, environment: Mapping[str, str]) -> Servers:
    """Reads a file, so not for the event loop; one that is not there has no servers. Raises ConfigError."""
    if not path.exists():
        return Servers({})
    root = jsonfile.load_bounded(path, MOST_BYTES).root()
    problems = _unknown(root, (SERVERS,))
    listed = root.child(SERVERS)
    found = {}
    for name, each in listed.values.items() if listed else ():
        assert listed is not None
        server = _server(listed, name, environment, path.parent)
        found[server.name] = server
        if isinstance(each, dict) and not server.fault:
            problems += _unknown(JsonObject(listed.file, (*listed.path, name), each), _FIELDS)
    return Servers(found, tuple(problems))


def _unknown(section: JsonObject, known: Collection[str]) -> list[str]:
    problems = []
    for key in section.values:
        if key not in known:
            nearest = process.extractOne(key, known, score_cutoff=_NEAR_ENOUGH)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            problems.append(str(section.file.fault((*section.path, key), f"is not known and has no effect{hint}")))
    return problems


def _server(listed: JsonObject, name: str, environment: Mapping[str, str], folder: Path) -> Server:
    made = Server(storable(name))
    try:
        section = listed.child(name)
        if section is None:
            raise listed.file.fault((*listed.path, name), "must be an object")
        if fault := unsayable({name: section.values}):
            raise listed.file.fault((*listed.path, storable(name)), fault)
        made = replace(
            made,
            disabled=section.flag("disabled", False),
            role=_role(section),
            seconds=_seconds(section),
            allow=_allow(section),
        )
        return made if made.disabled else _reached(made, section, environment, folder)
    except ConfigError as error:
        return replace(made, fault=str(error))


def _reached(made: Server, section: JsonObject, environment: Mapping[str, str], folder: Path) -> Server:
    kind = section.values.get("type", "stdio" if "command" in section.values else "http")
    if kind == "sse":
        raise _fault(section, "type", "is the old transport of 2024; use the server's streamable HTTP url")
    if kind not in _TYPES:
        raise _fault(section, "type", f"must be one of {', '.join(_TYPES[:2])}")
    if ("command" in section.values) == ("url" in section.values):
        hint = _unknown(section, _FIELDS)
        raise _fault(section, "", "must have either command or url" + (f" ({hint[0].rstrip('.')})" if hint else ""))
    if "url" in section.values:
        url = _expanded(section, "url", section.text("url", ""), environment)
        headers = _texts(section, "headers", environment)
        for key, fault in (("url", url_fault(url)), ("headers", header_fault(headers))):
            if fault:
                raise _fault(section, key, fault)
        return replace(
            made,
            reached=Endpoint(url, headers),
            secrets=_secrets([*headers.values(), *_in_address(url), *_given(section.text("url", ""), environment)]),
        )
    words = [section.text("command", ""), *_list(section, "args")]
    own = _texts(section, "env", environment)
    if fault := variable_fault(own):
        raise _fault(section, "env", fault)
    base = {key: environment[key] for key in INHERITED if key in environment}
    arguments = tuple(_expanded(section, "args", word, environment) for word in words)
    where = folder / section.text("cwd", ".")
    changed = [after for before, after in zip(words, arguments, strict=True) if before != after]
    given = [value for word in words for value in _given(word, environment)]
    secrets = _secrets([*own.values(), *changed, *given, *_behind_flags(arguments)])
    return replace(made, reached=Command(arguments, {**base, **own}, where), secrets=secrets)


def _secrets(values: Collection[str]) -> tuple[str, ...]:
    """The longest first; of `Bearer abcdef` the token, too."""
    plain = {word for value in values for word in (value, *value.split()) if len(word) >= _SHORTEST_SECRET}
    words = {spelt for word in plain for spelt in spellings(word)}
    return tuple(sorted(words, key=lambda word: (-len(word), word)))


def _given(text: str, environment: Mapping[str, str]) -> list[str]:
    """What stands for the variables in a text."""
    return [environment.get(found[1]) or found[2] or "" for found in _VARIABLE.finditer(text)]


def _behind_flags(arguments: Sequence[str]) -> list[str]:
    """What is written behind `--api-key`, `--token=` and the like."""
    pairs = [(word, following) for word, following in pairwise([*arguments, ""])]
    return [word.partition("=")[2] or following for word, following in pairs if _FLAG.match(word)]


def _in_address(url: str) -> list[str]:
    """User, password and the values of the query."""
    parts = urlsplit(url)
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    values = [field.partition("=")[2] for field in parts.query.split("&")]
    return [spelt for part in (user, password, *values) for spelt in (part, unquote_plus(part))]


def _texts(section: JsonObject, key: str, environment: Mapping[str, str]) -> dict[str, str]:
    child = section.child(key)
    found = {}
    for name, value in child.values.items() if child else ():
        if not isinstance(value, str):
            raise _fault(section, key, f"must only have strings; {name} is not one")
        found[name] = _expanded(section, key, value, environment)
    return found


def _list(section: JsonObject, key: str) -> list[str]:
    value = section.values.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _fault(section, key, "must be a list of strings")
    return value


def _expanded(section: JsonObject, key: str, text: str, environment: Mapping[str, str]) -> str:
    """`${NAME}`, `${NAME:-otherwise}` and `${env:NAME}` from the environment."""

    def value(found: re.Match[str]) -> str:
        name, otherwise = found[1], found[2]
        given = environment.get(name) or otherwise
        if given is None:
            raise _fault(section, key, f"names the variable {name}, which is not set in the environment")
        return given

    return _VARIABLE.sub(value, text)


def _role(section: JsonObject) -> Role:
    value = section.values.get("role", "owner")
    role = next((each for each in ROLES if each == value), None)
    if role is None:
        raise _fault(section, "role", f"must be one of {', '.join(ROLES)}")
    return role


def _allow(section: JsonObject) -> frozenset[str] | None:
    value = section.values.get("allow", [])
    if value is True:
        return None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return frozenset(value)
    raise _fault(section, "allow", "must be a list of this server's tools that need no confirmation, or true for all")


def _seconds(section: JsonObject) -> float:
    value = section.values.get("timeout", CALL_SECONDS)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_SECONDS:
        return float(value)
    raise _fault(section, "timeout", f"must be seconds, at most {MOST_SECONDS} (some programs count milliseconds)")


def _fault(section: JsonObject, key: str, reason: str) -> ConfigError:
    return section.file.fault((*section.path, key) if key else section.path, reason)
