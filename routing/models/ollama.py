"""Ollama: where it listens, and the best of its models that can chat."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

PROVIDER = "ollama"
HOME = "http://127.0.0.1:11434"
"""Where Ollama listens by default."""
_PORTS = {"http": "80", "https": "443"}
"""What Ollama takes for an address that names its scheme."""
_PORT = "11434"
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Addresses to listen on; a client talks to this machine instead."""
MOST_MODELS = 50
"""Models that are asked what they can do."""
MAX_BYTES = 8 * 1024 * 1024
"""Of one answer."""
_EMBEDDING_FAMILIES = frozenset({"bert", "nomic-bert", "nomic-bert-moe"})


def address(host: str) -> str:
    """OLLAMA_HOST as Ollama reads it: host, host:port, a scheme before it or not; a bad port is the default one."""
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
    """Host and port; an IPv6 address may stand without brackets when it has no port."""
    bare = place.strip("[]")
    try:
        return str(ipaddress.ip_address(bare)), ""
    except ValueError:
        name, _, port = place.rpartition(":") if ":" in place else (place, "", "")
        return name.strip("[]"), port


async def best_chat_model(web: httpx.AsyncClient, base: str, seconds: float) -> str | None:
    """`ollama/<name>` of the model to take when nobody chose one: of those that can chat, first those that can use
    tools, then the largest. None when Ollama does not answer within `seconds` or has no such model."""
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
    return f"{PROVIDER}/{best['name']}"


def capabilities(document: Any) -> frozenset[str]:
    """What /api/show says a model can do; empty where it does not say."""
    said = document.get("capabilities") if isinstance(document, dict) else None
    return frozenset(each for each in said if isinstance(each, str)) if isinstance(said, list) else frozenset()


async def _capabilities(web: httpx.AsyncClient, base: str, row: Mapping[str, Any]) -> frozenset[str]:
    """An old Ollama does not say; its embedding models are known by their family or name."""
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
    """The models on this machine; those that Ollama passes on to its cloud need an account."""
    listed = document.get("models") if isinstance(document, dict) else None
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return [row for row in rows if isinstance(row.get("name"), str) and not row.get("remote_host")][:MOST_MODELS]


def _size(row: Mapping[str, Any]) -> int:
    size = row.get("size")
    return size if isinstance(size, int) else 0
