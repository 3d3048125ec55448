"""Asks Ollama for its models: which one answers best, and the size, abilities and context window of each."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from routing.bounded import Bounded
from routing.catalog.discovery import address_of
from routing.catalog.provider_models import DiscoveryError
from routing.ports import Clock
from routing.types.llm import ProviderProfile
from routing.types.model_names import OLLAMA, OLLAMA_HOME, OLLAMA_NAMES

_PORTS = {"http": "80", "https": "443"}
"""Default ports for addresses with a scheme, as in Ollama."""
_PORT = "11434"
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Listening addresses; clients connect to this machine instead."""
MAX_MODELS = 50
"""Maximum number of models to query when looking for the best one."""
MAX_REMEMBERED = 1_000
"""Maximum number of models in memory. People can enter any model name."""
MAX_BYTES = 8 * 1024 * 1024
"""Maximum size of one response. Licence, template and one row per tensor of a large model are under 1 MB."""
MAX_SIZE_CHARACTERS = 20
"""Maximum length of a stated size: "7.6B", or a number of parameters."""
SECONDS = 5.0
"""Time limit for the data of one model; Ollama reads it from a file."""
KEPT_SECONDS = 3600.0
"""A model may be replaced under its name; the old answer is used until the new one arrives."""
FAILED_SECONDS = 300.0
UNLOADED_SECONDS = 30.0
"""When to ask again about a model that isn't loaded; only loaded models show the server's setting."""
_EMBEDDING_FAMILIES = frozenset({"bert", "nomic-bert", "nomic-bert-moe"})
Where = tuple[str, str]
"""Base URL (or empty) and model."""
WindowSource = Literal["catalogue", "assumed", "refusal", "loaded", "num_ctx", "made for", "default"]
"""The last four come from Ollama: the loaded model, `num_ctx` in its file, the model's own limit, Ollama's default."""

log = logging.getLogger("routing")


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
            rows = _rows(await _ask(web, f"{base}/api/tags"))
            capabilities_of = await asyncio.gather(*(_capabilities(web, base, row) for row in rows))
    except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError):
        return None
    able = [(row, can) for row, can in zip(rows, capabilities_of, strict=True) if "completion" in can]
    if not able:
        return None
    best, _ = max(able, key=lambda each: ("tools" in each[1], _size(each[0])))
    return RunningOllama(f"{OLLAMA}/{best['name']}", frozenset(str(row["name"]) for row in rows))


def capabilities(document: Any) -> frozenset[str]:
    """The abilities of a model from /api/show; empty if not given."""
    listed = document.get("capabilities") if isinstance(document, dict) else None
    return frozenset(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else frozenset()


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
    windows = [] if made_for is None else [KnownWindow(made_for, "made for")]
    if not shown.get("remote_host"):
        parameters = shown.get("parameters")
        lines = (line.split() for line in parameters.splitlines()) if isinstance(parameters, str) else ()
        own = next((_tokens(line[1]) for line in lines if line[:1] == ["num_ctx"] and len(line) > 1), None)
        windows.append(OLLAMA_DEFAULT if own is None else KnownWindow(own, "num_ctx"))
    return min(windows, key=lambda each: each.tokens, default=None)


def _tokens(value: object) -> int | None:
    """A number of tokens, 1 to 999,999,999; None for anything else."""
    text = str(value) if isinstance(value, int | str) else ""
    return (int(text) or None) if len(text) <= 9 and text.isascii() and text.isdigit() else None


async def _capabilities(web: httpx.AsyncClient, base: str, row: Mapping[str, Any]) -> frozenset[str]:
    """Old versions don't list abilities; embedding models are then recognised by family or name."""
    try:
        found = capabilities(await _ask(web, f"{base}/api/show", {"model": row["name"]}))
    except (httpx.HTTPStatusError, ValueError, RecursionError):
        found = frozenset()
    if found:
        return found
    details = row.get("details")
    family = details.get("family") if isinstance(details, dict) else None
    embeds = family in _EMBEDDING_FAMILIES or "embed" in row["name"].lower()
    return frozenset() if embeds else frozenset({"completion"})


async def _ask(
    web: httpx.AsyncClient, url: httpx.URL | str, body: Mapping[str, str] | None = None, key: str | None = None
) -> Any:
    """The JSON at an address. Raises httpx's errors, ValueError and RecursionError."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    method = "GET" if body is None else "POST"
    async with web.stream(method, url, json=body, headers=headers, follow_redirects=False, timeout=None) as response:
        response.raise_for_status()
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES // 2**20} MB")
    return await asyncio.to_thread(json.loads, data)


def _rows(document: Any) -> Sequence[Mapping[str, Any]]:
    """The models on this machine; Ollama's cloud models need an account."""
    listed = document.get("models") if isinstance(document, dict) else None
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return [row for row in rows if isinstance(row.get("name"), str) and not row.get("remote_host")][:MAX_MODELS]


def _size(row: Mapping[str, Any]) -> int:
    size = row.get("size")
    return size if isinstance(size, int) else 0


def _parameters(document: Any) -> str:
    """The number of parameters from /api/show, as text. Raises ValueError if there is none."""
    for part, name in (("details", "parameter_size"), ("model_info", "general.parameter_count")):
        rows = document.get(part) if isinstance(document, dict) else None
        stated = rows.get(name) if isinstance(rows, dict) else None
        text = str(stated).strip() if isinstance(stated, str | int) and not isinstance(stated, bool) else ""
        if 0 < len(text) <= MAX_SIZE_CHARACTERS:
            return text
    raise ValueError("no number of parameters")


@dataclass(slots=True)
class _Known:
    """What Ollama said about a model, and when to ask again."""

    size: str | None = None
    capabilities: frozenset[str] = frozenset()
    window: KnownWindow | None = None
    again: float = -math.inf


class OllamaModels:
    """Asks Ollama in the background for size, abilities and window of models. Failures are remembered, too, and logged
    at debug level."""

    def __init__(
        self,
        clock: Clock = time.monotonic,
        web: Callable[[], httpx.AsyncClient] = httpx.AsyncClient,
        seconds: float = SECONDS,
    ) -> None:
        """`web` creates a client, in a thread because it reads the system's certificates."""
        self._clock = clock
        self._web = web
        self._seconds = seconds
        self._known = Bounded[Where, _Known](MAX_REMEMBERED)
        self._wanted: dict[Where, ProviderProfile] = {}
        self._news = asyncio.Event()

    def of(self, model: str, profile: ProviderProfile) -> str | None:
        """The known size of `provider/model`, such as "7.6B". Never waits: unknown or outdated data is requested in the
        background."""
        return self._about(model, profile).size

    def capabilities(self, model: str, profile: ProviderProfile) -> frozenset[str]:
        """The model's abilities ("completion", "tools", "vision", "thinking"); empty if not known yet."""
        return self._about(model, profile).capabilities

    def window(self, model: str, profile: ProviderProfile) -> KnownWindow | None:
        """The window that Ollama uses for this model; None if not known yet."""
        return self._about(model, profile).window

    def _about(self, model: str, profile: ProviderProfile) -> _Known:
        where = (profile.base_url or "", model)
        known = self._known.get(where) or _Known()
        if profile.name in OLLAMA_NAMES and where not in self._wanted and self._clock() >= known.again:
            self._wanted[where] = profile
            self._news.set()
        return known

    async def keep(self) -> None:
        """Request data whenever some is wanted, until cancelled."""
        while True:
            await self._news.wait()
            await self.ask()

    async def ask(self) -> None:
        """Request all wanted data concurrently, within the time limit. Never raises."""
        self._news.clear()
        asked = dict(self._wanted)
        if not asked:
            return
        known = {where: self._known.get(where) or _Known() for where in asked}
        for where, each in known.items():
            each.again = self._clock() + FAILED_SECONDS
            self._known[where] = each
        try:
            async with await asyncio.to_thread(self._web) as web:
                await asyncio.gather(*(self._learn(web, where[1], asked[where], known[where]) for where in asked))
        except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
            # no certificates, an invalid proxy, no SOCKS
            log.debug("[Sizes] No provider could be asked (%s)", type(error).__name__)
        finally:
            for where in asked:
                del self._wanted[where]

    async def _learn(self, web: httpx.AsyncClient, model: str, profile: ProviderProfile, known: _Known) -> None:
        name = model.partition("/")[2]
        key = profile.api_key if profile.base_url else None  # keys are sent only to their own provider
        try:
            base = address_of(profile, OLLAMA_HOME)
            path = f"{base.path.rstrip('/').removesuffix('/v1')}/api"
            async with asyncio.timeout(self._seconds):
                shown = await _ask(web, base.copy_with(path=f"{path}/show", fragment=None), {"model": name}, key)
                known.capabilities = capabilities(shown)
                loaded = await _loaded(web, base.copy_with(path=f"{path}/ps", fragment=None), name, key)
            # Ollama unloads idle models; the window of the last load stays valid until the next one.
            before = known.window if known.window is not None and known.window.source == "loaded" else None
            known.window = loaded or before or shown_window(shown) or known.window
            known.size = _parameters(shown)
            known.again = self._clock() + (UNLOADED_SECONDS if loaded is None else KEPT_SECONDS)
        except (DiscoveryError, httpx.HTTPError, OSError, ValueError, RecursionError) as error:
            log.debug("[Sizes] %s gives no size (%s: %s)", model, type(error).__name__, error)


async def _loaded(web: httpx.AsyncClient, url: httpx.URL, model: str, key: str | None) -> KnownWindow | None:
    """The context window of a loaded model; None if Ollama is too old."""
    try:
        return loaded_window(await _ask(web, url, key=key), model)
    except (httpx.HTTPError, ValueError, RecursionError):
        return None
