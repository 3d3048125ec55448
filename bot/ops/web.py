"""HTTP client for providers, outside of turns."""

from __future__ import annotations

import httpx


def client(https_proxy: str | None) -> httpx.AsyncClient:
    """A client that uses HTTPS_PROXY, even if it is only set in `.env`; plain HTTP is not proxied."""
    mounts = {"https://": httpx.AsyncHTTPTransport(proxy=https_proxy)} if https_proxy else None
    return httpx.AsyncClient(mounts=mounts)
