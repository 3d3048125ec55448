"""Asks Ollama in the background for size, abilities and context window of models, and caches the answers."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Any

import httpx

from routing.catalog.discovery import DiscoveryError, address_of
from routing.catalog.ollama import KnownWindow, capabilities, loaded_window, shown_window
from routing.ports import Clock
from routing.types.llm import ProviderProfile
from routing.types.model_names import OLLAMA_HOME

ASKED = frozenset({"ollama", "ollama_chat"})
"""Providers that can be asked."""
SECONDS = 5.0
"""Time limit of one request; Ollama reads the answer from a file."""
KEPT_SECONDS = 3600.0
"""A model may be replaced under its name; the old answer is used until the new one arrives."""
FAILED_SECONDS = 300.0
UNLOADED_SECONDS = 30.0
"""When to ask again about a model that isn't loaded; only loaded models show the server's setting."""
MAX_MODELS = 1_000
"""Maximum number of models in memory. People can enter any model name."""
MAX_BYTES = 8 * 1024 * 1024
"""Maximum size of one response. Licence, template and one row per tensor of a large model are under 1 MB."""
LONGEST = 20
"""Maximum length of a stated size: "7.6B", or a number of parameters."""

Where = tuple[str, str]
"""Base URL (or empty) and model."""

log = logging.getLogger("routing")


class StatedSizes:
    """Parameter counts, abilities and windows reported by Ollama. Failures are cached and logged at debug level."""

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
        self._stated: dict[Where, str] = {}
        self._able: dict[Where, frozenset[str]] = {}
        self._windows: dict[Where, KnownWindow] = {}
        self._again: dict[Where, float] = {}
        self._wanted: dict[Where, ProviderProfile] = {}
        self._news = asyncio.Event()

    def of(self, model: str, profile: ProviderProfile) -> str | None:
        """The known size of `provider/model`, such as "7.6B". Never waits: unknown or outdated data is requested in the
        background."""
        return self._stated.get(self._want(model, profile))

    def capabilities(self, model: str, profile: ProviderProfile) -> frozenset[str]:
        """The model's abilities ("completion", "tools", "vision", "thinking"); empty if not known yet."""
        return self._able.get(self._want(model, profile), frozenset())

    def window(self, model: str, profile: ProviderProfile) -> KnownWindow | None:
        """The window that Ollama uses for this model; None if not known yet."""
        return self._windows.get(self._want(model, profile))

    def _want(self, model: str, profile: ProviderProfile) -> Where:
        where = (profile.base_url or "", model)
        known = profile.name not in ASKED or where in self._wanted
        if not known and self._clock() >= self._again.get(where, float("-inf")):
            self._wanted[where] = profile
            self._news.set()
        return where

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
        if len(self._again) > MAX_MODELS:
            for known in (self._again, self._stated, self._able, self._windows):
                known.clear()
        self._again |= dict.fromkeys(asked, self._clock() + FAILED_SECONDS)
        try:
            async with await asyncio.to_thread(self._web) as web:
                await asyncio.gather(*(self._ask(web, where, profile) for where, profile in asked.items()))
        except (
            OSError,
            ValueError,
            ImportError,
            httpx.InvalidURL,
        ) as error:  # no certificates, invalid proxy, no SOCKS
            log.debug("[Sizes] No provider could be asked (%s)", type(error).__name__)
        finally:
            for where in asked:
                del self._wanted[where]

    async def _ask(self, web: httpx.AsyncClient, where: Where, profile: ProviderProfile) -> None:
        name = where[1].partition("/")[2]
        try:
            async with asyncio.timeout(self._seconds):
                document = await _told(web, profile, "POST", "show", {"model": name})
                self._able[where] = capabilities(document)
                loaded = await _loaded(web, profile, name)
            self._keep_window(where, loaded, shown_window(document))
            self._stated[where] = _parameters(document)
            self._again[where] = self._clock() + (UNLOADED_SECONDS if loaded is None else KEPT_SECONDS)
        except (DiscoveryError, httpx.HTTPError, OSError, ValueError, RecursionError) as error:
            log.debug("[Sizes] %s gives no size (%s: %s)", where[1], type(error).__name__, error)

    def _keep_window(self, where: Where, loaded: KnownWindow | None, shown: KnownWindow | None) -> None:
        """Ollama unloads idle models; the window of the last load stays valid until the next one."""
        before = self._windows.get(where)
        told = loaded or (before if before is not None and before.source == "loaded" else shown)
        if told is not None:
            self._windows[where] = told


async def _loaded(web: httpx.AsyncClient, profile: ProviderProfile, model: str) -> KnownWindow | None:
    """The context window of a loaded model; None if Ollama is too old."""
    try:
        return loaded_window(await _told(web, profile, "GET", "ps"), model)
    except (httpx.HTTPError, ValueError, RecursionError):
        return None


async def _told(
    web: httpx.AsyncClient, profile: ProviderProfile, method: str, call: str, body: dict[str, str] | None = None
) -> Any:
    """Raises DiscoveryError, ValueError, RecursionError and httpx's errors."""
    base = address_of(profile, OLLAMA_HOME)
    path = base.path.rstrip("/").removesuffix("/v1")
    key = profile.api_key if profile.base_url else None  # keys are sent only to their own provider
    async with web.stream(
        method,
        base.copy_with(path=f"{path}/api/{call}", fragment=None),
        json=body,
        headers={"authorization": f"Bearer {key}"} if key else {},
        follow_redirects=False,
        timeout=None,
    ) as response:
        if response.status_code != 200:
            raise ValueError(f"HTTP {response.status_code}")
        data = bytearray()
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES // 2**20} MB")
    return await asyncio.to_thread(json.loads, data)


def _parameters(document: Any) -> str:
    """The number of parameters, as text. Raises ValueError if there is none."""
    for part, name in (("details", "parameter_size"), ("model_info", "general.parameter_count")):
        rows = document.get(part) if isinstance(document, dict) else None
        said = rows.get(name) if isinstance(rows, dict) else None
        text = str(said).strip() if isinstance(said, str | int) and not isinstance(said, bool) else ""
        if 0 < len(text) <= LONGEST:
            return text
    raise ValueError("no number of parameters")
