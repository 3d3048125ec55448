"""Models for use without any provider's key: a running Ollama, or else the demo model."""

from __future__ import annotations

import asyncio
import logging

import httpx

from handlers.commands.start import OLLAMA
from handlers.demo_model import NOTE
from routing.catalog.ollama import running_ollama
from routing.errors import Reason
from routing.policy.models import Models
from routing.types.model_names import OLLAMA as PROVIDER

FIRST_TIMEOUT_SECONDS = 2.0
"""Timeout for an Ollama that accepts the connection but is slow. Without one, the connection is refused at once."""
RETRY_SECONDS = 30.0

log = logging.getLogger("bot.keyless")


async def detect_ollama(models: Models, seconds: float) -> None:
    """Find an Ollama that answers within `seconds`. Its models answer if no provider with a key can be called."""
    base = models.config.profile(PROVIDER).base_url
    if not models.only_ollama() or base is None:
        return
    base = base.rstrip("/").removesuffix("/v1")
    # Without the environment's proxies: Ollama is nearby, and a SOCKS proxy would need another package.
    async with await asyncio.to_thread(httpx.AsyncClient, timeout=seconds, trust_env=False) as web:
        models.running = await running_ollama(web, base, seconds) or models.running


async def keep_detecting(models: Models) -> None:
    """Log which model answers, then keep looking for an Ollama that starts later, until cancelled."""
    if (message := describe_keyless_model(models)) is not None:
        log.info("[Models] %s", message)
    while True:
        await asyncio.sleep(RETRY_SECONDS)
        if models.running is None and models.only_ollama():
            await detect_ollama(models, FIRST_TIMEOUT_SECONDS)
            if models.ollama is not None:
                log.info("[Models] %s", describe_keyless_model(models))


def describe_keyless_model(models: Models) -> Reason | None:
    """Which model answers instead of a provider, for the banner and the log; None if a provider has a key."""
    if not models.without_keys():
        return None
    if models.ollama is None:
        return Reason(NOTE)
    return Reason(OLLAMA, model=models.ollama.partition("/")[2])
