"""Providers on loopback with scripted model lists, and what discovery finds there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from aiohttp import web

from routing.catalog.discovery import DiscoveredModel, discover
from routing.catalog.provider_models import DiscoveryError
from routing.config.runtime import variable
from routing.types.llm import ApiType, ProviderProfile
from tests.servers.listener import Handler, listening

KEY = "sk-secret-123"


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[tuple[str, list[web.BaseRequest]]]:
    """A server on loopback that answers everything with `handler`; yields its address and the requests."""
    asked: list[web.BaseRequest] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request)
        return await handler(request)

    async with listening(answer) as base:
        yield base, asked


def replying(*pages: object, status: int = 200) -> Handler:
    """Answers the first request with the first page, and so on; the last page repeats."""
    rest = list(pages)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(rest.pop(0) if len(rest) > 1 else rest[0], status=status)

    return answer


def profile(name: str, api_type: ApiType | None, base: str | None, key: str | None, seconds: float) -> ProviderProfile:
    return ProviderProfile(name, api_type, base, key, seconds, variable(name))


async def found(
    base: str | None,
    api_type: ApiType = "openai",
    key: str | None = KEY,
    seconds: float = 20,
    name: str = "mine",
) -> tuple[DiscoveredModel, ...]:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await discover(profile(name, api_type, base, key, seconds), client)


async def refusal(
    base: str | None,
    api_type: ApiType = "openai",
    key: str | None = KEY,
    seconds: float = 20,
    name: str = "mine",
) -> DiscoveryError:
    with pytest.raises(DiscoveryError) as refused:
        await found(base, api_type, key, seconds, name)
    assert KEY not in str(refused.value)
    return refused.value
