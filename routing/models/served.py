"""What a provider itself says of its models: size and abilities. Asked in the background, kept in memory."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Any

import httpx

from routing.calls import ProviderProfile
from routing.models.discovery import DiscoveryError, address_of
from routing.models.ollama import HOME, capabilities
from routing.ports import Clock

ASKED = frozenset({"ollama", "ollama_chat"})
"""Providers that tell it. Elsewhere nobody does."""
SECONDS = 5.0
"""For one answer; Ollama reads it from a file."""
KEPT_SECONDS = 3600.0
"""A model can be made anew under its old name; the old answer holds until the new one is there."""
FAILED_SECONDS = 300.0
MAX_BYTES = 8 * 1024 * 1024
"""Of one answer; the licence, the template and a row for each tensor of a large model are under 1 MB."""
LONGEST = 20
"""Signs of a stated size: "7.6B", or a number of parameters."""

Where = tuple[str, str]
"""A base URL, empty for none, and a model."""

log = logging.getLogger("routing")


class StatedSizes:
    """Numbers of parameters and abilities as Ollama states them. Failures are remembered, and in the debug log only."""

    def __init__(
        self,
        clock: Clock = time.monotonic,
        web: Callable[[], httpx.AsyncClient] = httpx.AsyncClient,
        seconds: float = SECONDS,
    ) -> None:
        """`web` makes a client, in a thread: that reads the machine's certificates."""
        self._clock = clock
        self._web = web
        self._seconds = seconds
        self._stated: dict[Where, str] = {}
        self._able: dict[Where, frozenset[str]] = {}
        self._again: dict[Where, float] = {}
        self._wanted: dict[Where, ProviderProfile] = {}
        self._news = asyncio.Event()

    def of(self, model: str, profile: ProviderProfile) -> str | None:
        """What is known of `provider/model` now, such as "7.6B". What is not, or no longer fresh, is wanted from now
        on; nothing is waited for."""
        return self._stated.get(self._want(model, profile))

    def capabilities(self, model: str, profile: ProviderProfile) -> frozenset[str]:
        """What Ollama says a model can do ("completion", "tools", "vision", "thinking"); empty while that is not
        known."""
        return self._able.get(self._want(model, profile), frozenset())

    def _want(self, model: str, profile: ProviderProfile) -> Where:
        where = (profile.base_url or "", model)
        known = profile.name not in ASKED or where in self._wanted
        if not known and self._clock() >= self._again.get(where, float("-inf")):
            self._wanted[where] = profile
            self._news.set()
        return where

    async def keep(self) -> None:
        """Ask for whatever is wanted, as soon as it is, until it is cancelled."""
        while True:
            await self._news.wait()
            await self.ask()

    async def ask(self) -> None:
        """Ask for all that is wanted, at the same time, within the time-out. Raises nothing."""
        self._news.clear()
        asked = dict(self._wanted)
        if not asked:
            return
        self._again |= dict.fromkeys(asked, self._clock() + FAILED_SECONDS)
        try:
            async with await asyncio.to_thread(self._web) as web:
                await asyncio.gather(*(self._ask(web, where, profile) for where, profile in asked.items()))
        except Exception as error:  # a client that cannot be made: no certificates, a strange proxy
            log.debug("[Sizes] Nobody could be asked (%s)", type(error).__name__)
        for where in asked:
            del self._wanted[where]

    async def _ask(self, web: httpx.AsyncClient, where: Where, profile: ProviderProfile) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                document = await _told(web, where[1], profile)
            self._able[where] = capabilities(document)
            self._stated[where] = _parameters(document)
        except (DiscoveryError, httpx.HTTPError, OSError, ValueError, RecursionError) as error:
            log.debug("[Sizes] %s does not tell (%s: %s)", where[1], type(error).__name__, error)
        else:
            self._again[where] = self._clock() + KEPT_SECONDS


async def _told(web: httpx.AsyncClient, model: str, profile: ProviderProfile) -> Any:
    """Raises DiscoveryError, ValueError, RecursionError and what httpx raises."""
    base = address_of(profile, HOME)
    path = base.path.rstrip("/").removesuffix("/v1")
    key = profile.api_key if profile.base_url else None  # a key goes to its own provider or nowhere
    async with web.stream(
        "POST",
        base.copy_with(path=f"{path}/api/show", fragment=None),
        json={"model": model.partition("/")[2]},
        headers={"authorization": f"Bearer {key}"} if key else {},
        follow_redirects=False,
        timeout=None,
    ) as response:
        if response.status_code != 200:
            raise ValueError(f"HTTP {response.status_code}")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES // 2**20} MB")
    return await asyncio.to_thread(json.loads, body)


def _parameters(document: Any) -> str:
    """Of an answer, as text. Raises ValueError when it does not say."""
    for part, name in (("details", "parameter_size"), ("model_info", "general.parameter_count")):
        rows = document.get(part) if isinstance(document, dict) else None
        said = rows.get(name) if isinstance(rows, dict) else None
        text = str(said).strip() if isinstance(said, str | int) and not isinstance(said, bool) else ""
        if 0 < len(text) <= LONGEST:
            return text
    raise ValueError("no number of parameters")
