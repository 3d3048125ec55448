"""Reads Ollama's address and model data."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from routing.types.model_names import OLLAMA

_PORTS = {"http": "80", "https": "443"}
"""Default ports for addresses with a scheme, as in Ollama."""
_PORT = "11434"
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Listening addresses; clients connect to this machine instead."""
MAX_MODELS = 50
"""Maximum number of models to query."""
MAX_BYTES = 8 * 1024 * 1024
"""Maximum size of one response."""
_EMBEDDING_FAMILIES = frozenset({"bert", "nomic-bert", "nomic-bert-moe"})
WindowSource = Literal["catalogue", "assumed", "refusal", "loaded", "num_ctx", "made for", "default"]
"""The last four come from Ollama: the loaded model, `num_ctx` in its file, the model's own limit, Ollama's default."""


@dataclass(frozen=True, slots=True)
class KnownWindow:
    """A context window in tokens, and its source."""

    tokens: int
    source: WindowSource


OLLAMA_DEFAULT = KnownWindow(4096, "default")
"""Ollama's default window (its documentation, "Context length"); Ollama drops the rest without an error."""


def address(host: str) -> str:
    """Parse OLLAMA_HOST the way Ollama does: host, host:port, with or without scheme; a bad port becomes the
    default."""
    scheme, separator, rest = host.strip().strip("\"'").partition("://")
    if not separator:
        scheme, rest = "http", scheme
    usual = _PORTS.get(scheme.lower(), _PORT) if separator else _PORT
    place, slash, path = rest.partition("/")
    name, port = _split(place)
    name = _ANY.get(name, name)
    if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        port = usual
    shown = f"[{name}]" if ":" in name else name
    return f"{scheme.lower()}://{shown}:{port}{slash}{path}".rstrip("/")


def _split(place: str) -> tuple[str, str]:
    """Split host and port; an IPv6 address without a port needs no brackets."""
    bare = place.strip("[]")
    try:
        return str(ipaddress.ip_address(bare)), ""
    except ValueError:
        name, _, port = place.rpartition(":") if ":" in place else (place, "", "")
        return name.strip("[]"), port


@dataclass(frozen=True, slots=True)
class RunningOllama:
    """An Ollama that answers. `best` is its default model, `ollama/<name>`; `pulled` are the names of all."""

    best: str
    pulled: frozenset[str]

    def has(self, name: str) -> bool:
        """Whether a model of this name, with or without its tag, is pulled."""
        return name in self.pulled or f"{name}:latest" in self.pulled


async def running_ollama(web: httpx.AsyncClient, base: str, seconds: float) -> RunningOllama | None:
    """Its best model is, of those that can chat, one with tool support, then the largest. None if Ollama doesn't answer
    within `seconds` or has no model that can chat."""
    try:
        async with asyncio.timeout(seconds):
            rows = _rows(await _json(web, "GET", f"{base}/api/tags"))
            told = await asyncio.gather(*(_capabilities(web, base, row) for row in rows))
    except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError):
        return None
    able = [(row, can) for row, can in zip(rows, told, strict=True) if "completion" in can]
    if not able:
        return None
    best, _ = max(able, key=lambda each: ("tools" in each[1], _size(each[0])))
    return RunningOllama(f"{OLLAMA}/{best['name']}", frozenset(str(row["name"]) for row in rows))


def capabilities(document: Any) -> frozenset[str]:
    """The abilities of a model from /api/show; empty if not given."""
    said = document.get("capabilities") if isinstance(document, dict) else None
    return frozenset(each for each in said if isinstance(each, str)) if isinstance(said, list) else frozenset()


def loaded_window(running: Any, model: str) -> KnownWindow | None:
    """The context window of a loaded model from /api/ps; None if it isn't loaded or Ollama is too old."""
    rows = running.get("models") if isinstance(running, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("name") in (model, f"{model}:latest"):
            tokens = _tokens(row.get("context_length"))
            return None if tokens is None else KnownWindow(tokens, "loaded")
    return None


def shown_window(shown: Any) -> KnownWindow | None:
    """The context window from /api/show: `num_ctx` of the model file, else Ollama's default, capped by the model's own
    limit. None for a cloud model without the information."""
    if not isinstance(shown, dict):
        return None
    info = shown.get("model_info")
    rows = info.items() if isinstance(info, dict) else ()
    made_for = next((_tokens(value) for key, value in rows if str(key).endswith(".context_length")), None)
    told = [] if made_for is None else [KnownWindow(made_for, "made for")]
    if not shown.get("remote_host"):
        parameters = shown.get("parameters")
        lines = (line.split() for line in parameters.splitlines()) if isinstance(parameters, str) else ()
        own = next((_tokens(line[1]) for line in lines if line[:1] == ["num_ctx"] and len(line) > 1), None)
        told.append(OLLAMA_DEFAULT if own is None else KnownWindow(own, "num_ctx"))
    return min(told, key=lambda each: each.tokens, default=None)


def _tokens(value: object) -> int | None:
    """A number of tokens, 1 to 999,999,999; None for anything else."""
    text = str(value) if isinstance(value, int | str) else ""
    return (int(text) or None) if len(text) <= 9 and text.isascii() and text.isdigit() else None


async def _capabilities(web: httpx.AsyncClient, base: str, row: Mapping[str, Any]) -> frozenset[str]:
    """Old versions don't list abilities; embedding models are then recognised by family or name."""
    try:
        told = capabilities(await _json(web, "POST", f"{base}/api/show", {"model": row["name"]}))
    except (httpx.HTTPStatusError, ValueError, RecursionError):
        told = frozenset()
    if told:
        return told
    details = row.get("details")
    family = details.get("family") if isinstance(details, dict) else None
    embeds = family in _EMBEDDING_FAMILIES or "embed" in row["name"].lower()
    return frozenset() if embeds else frozenset({"completion"})


async def _json(web: httpx.AsyncClient, method: str, url: str, body: Mapping[str, str] | None = None) -> Any:
    async with web.stream(method, url, json=body, follow_redirects=False) as response:
        response.raise_for_status()
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES // 2**20} MB")
    return json.loads(data)


def _rows(document: Any) -> Sequence[Mapping[str, Any]]:
    """The models on this machine; Ollama's cloud models need an account."""
    listed = document.get("models") if isinstance(document, dict) else None
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return [row for row in rows if isinstance(row.get("name"), str) and not row.get("remote_host")][:MAX_MODELS]


def _size(row: Mapping[str, Any]) -> int:
    size = row.get("size")
    return size if isinstance(size, int) else 0
