"""HTTP to providers, outside a turn."""

from __future__ import annotations

import httpx


def client(https_proxy: str | None) -> httpx.AsyncClient:
    """A client that goes by HTTPS_PROXY, also when only `.env` says so; plain HTTP is never proxied by it."""
    mounts = {"https://": httpx.AsyncHTTPTransport(proxy=https_proxy)} if https_proxy else None
    return httpx.AsyncClient(mounts=mounts)
