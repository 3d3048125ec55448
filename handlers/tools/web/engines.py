"""The search services: SearXNG, Brave, Tavily, and the library ddgs, which needs no key."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from handlers.tools.dependencies import WebSettings
from handlers.tools.mcp.text import readable
from handlers.tools.web.worker_process import WorkerFailed, WorkerProcess

Period = Literal["any", "day", "week", "month", "year"]
SECONDS = 8.0
KEYLESS_SECONDS = 20.0
_MAX_TITLE, _MAX_URL, _MAX_EXCERPT = 200, 500, 600
_MAX_BYTES = 2_000_000
_REGIONS = {
    "de": "de", "fr": "fr", "es": "es", "it": "it", "pt": "pt", "nl": "nl", "pl": "pl", "ru": "ru", "tr": "tr",
    "ar": "xa", "ko": "kr", "ja": "jp", "zh": "cn",
}  # fmt: skip
"""The region that ddgs searches in for a language; the United States for others."""

log = logging.getLogger("handlers.tools.web")


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """`language` is an ISO code."""

    text: str
    count: int
    period: Period = "any"
    language: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result. `date` is as the engine writes it, empty if it gives none."""

    title: str
    url: str
    excerpt: str
    date: str = ""


class EngineFailed(Exception):
    """Why an engine can't be used now, as a clause: "does not accept the key"."""


@dataclass(frozen=True, slots=True)
class Engine:
    """`search` raises EngineFailed."""

    name: str
    title: str
    search: Callable[[SearchQuery], Awaitable[tuple[SearchResult, ...]]]


class Engines:
    """Builds the engines that are configured."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._worker = worker

    def of(self, settings: WebSettings) -> Iterator[Engine]:
        """The engines to try, in order: your own SearXNG, then those with a key, then the one without."""
        configured = (
            (settings.searxng_url, "searxng", "SearXNG", self._searxng),
            (settings.brave_key, "brave", "Brave", self._brave),
            (settings.tavily_key, "tavily", "Tavily", self._tavily),
            ("always", "ddgs", "the search without a key", self._keyless),
        )
        for needed, name, title, search in configured:
            if settings.engine == name or (settings.engine == "auto" and needed):
                yield Engine(name, title, _bound(search, settings))

    async def _searxng(self, query: SearchQuery, settings: WebSettings) -> tuple[SearchResult, ...]:
        if not settings.searxng_url:
            raise EngineFailed("has no address (SEARXNG_URL)")
        params = {"q": query.text, "format": "json"}
        if query.period != "any":
            params["time_range"] = query.period
        refused = "does not allow JSON (add json to search.formats in its settings.yml), or refuses this address"
        found = await _ask(
            f"{settings.searxng_url.rstrip('/')}/search", settings, params=params, refusals={403: refused}
        )
        results = _results(found, ("results",), "content", ("publishedDate", "pubdate"), query.count)
        if not results and (failed := found.get("unresponsive_engines")):
            raise EngineFailed(f"got no answer from its {len(failed) if isinstance(failed, list) else 1} engines")
        return results

    async def _brave(self, query: SearchQuery, settings: WebSettings) -> tuple[SearchResult, ...]:
        if not settings.brave_key:
            raise EngineFailed("has no key (BRAVE_API_KEY)")
        params = {"q": " ".join(query.text.split()[:50]), "count": str(query.count), "text_decorations": "false"}
        if query.period != "any":
            params["freshness"] = f"p{query.period[0]}"
        headers = {"X-Subscription-Token": settings.brave_key, "Accept": "application/json"}
        url = f"{settings.brave_root.rstrip('/')}/res/v1/web/search"
        found = await _ask(url, settings, params=params, headers=headers, key="BRAVE_API_KEY")
        if found.get("web") is None and found.get("type") == "search":
            return ()  # as Brave answers when there are no results
        return _results(found, ("web", "results"), "description", ("page_age", "age"), query.count)

    async def _tavily(self, query: SearchQuery, settings: WebSettings) -> tuple[SearchResult, ...]:
        if not settings.tavily_key:
            raise EngineFailed("has no key (TAVILY_API_KEY)")
        body = {"query": query.text, "max_results": query.count}
        if query.period != "any":
            body["time_range"] = query.period
        found = await _ask(
            f"{settings.tavily_root.rstrip('/')}/search",
            settings,
            body=body,
            headers={"Authorization": f"Bearer {settings.tavily_key}"},
            key="TAVILY_API_KEY",
        )
        return _results(found, ("results",), "content", ("published_date",), query.count)

    async def _keyless(self, query: SearchQuery, settings: WebSettings) -> tuple[SearchResult, ...]:
        language = query.language.partition("-")[0].lower()
        job = {
            "kind": "search",
            "query": query.text,
            "count": query.count,
            "period": None if query.period == "any" else query.period[0],
            "region": f"{_REGIONS[language]}-{language}" if language in _REGIONS else "us-en",
            "proxy": settings.proxy,
            "address": settings.duckduckgo_url,
        }
        try:
            found = await self._worker.run(job, seconds=KEYLESS_SECONDS)
        except WorkerFailed:
            raise EngineFailed(f"gave nothing usable within {KEYLESS_SECONDS:g} s") from None
        problems = found["problems"]
        if problems:
            log.info("[Web] search without a key: %s", ", ".join(f"{name} {what}" for name, what in problems.items()))
        if not found["engine"] and set(problems.values()) - {"gave no results"}:
            raise EngineFailed(f"failed ({', '.join(f'{name} {what}' for name, what in problems.items())})")
        return _results(found, ("results",), "body", ("date",), query.count, address="href")


def _bound(
    search: Callable[[SearchQuery, WebSettings], Awaitable[tuple[SearchResult, ...]]], settings: WebSettings
) -> Callable[[SearchQuery], Awaitable[tuple[SearchResult, ...]]]:
    return lambda query: search(query, settings)


async def _ask(
    url: str,
    settings: WebSettings,
    *,
    params: Mapping[str, str] | None = None,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    key: str = "",
    refusals: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """A JSON object from a service. Raises EngineFailed; its text has nothing of what the service sent."""
    from handlers.http.client import HttpClient, HttpFailed, Request  # loads aiohttp

    method = "GET" if body is None else "POST"
    request = Request(method, headers, params, body, seconds=SECONDS, most_bytes=_MAX_BYTES)
    known = {429: "has been asked too often", **dict.fromkeys((402, 432, 433), "has no quota left")}
    if key:  # Brave answers 422 for a malformed one
        known |= dict.fromkeys((401, 403, 422), f"does not accept the key ({key})")
    try:
        found = (await HttpClient(settings.proxy).send(url, request)).json()
    except HttpFailed as error:
        raise EngineFailed({**known, **(refusals or {})}.get(error.status, error.reason)) from None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise EngineFailed("sent something that is not a list of results")
    return found


def _results(
    found: Mapping[str, Any],
    path: tuple[str, ...],
    excerpt: str,
    dates: tuple[str, ...],
    count: int,
    address: str = "url",
) -> tuple[SearchResult, ...]:
    """The usable results of an answer. Raises EngineFailed if it has no list of results."""
    listed: Any = found
    for name in path:
        listed = listed.get(name) if isinstance(listed, Mapping) else None
    if not isinstance(listed, list):
        raise EngineFailed("sent something that is not a list of results")
    results: dict[str, SearchResult] = {}
    for each in listed:
        url = _target(each.get(address)) if isinstance(each, Mapping) else ""
        if url and len(results) < count:
            date = next((_plain(each[name], 40) for name in dates if each.get(name)), "")
            title = _plain(each.get("title"), _MAX_TITLE) or url
            results.setdefault(url, SearchResult(title, url, _plain(each.get(excerpt), _MAX_EXCERPT), date))
    return tuple(results.values())


def _target(value: object) -> str:
    """The address of a result, without the search engine's redirect; empty if it is not a web address."""
    text = f"https:{value}" if isinstance(value, str) and value.startswith("//") else value
    if not isinstance(text, str) or len(text) > 4 * _MAX_URL or not text.startswith(("https://", "http://")):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    if (parts.hostname or "").endswith("duckduckgo.com") and parts.path == "/l/":
        text = parse_qs(parts.query).get("uddg", [""])[0]
    return readable("".join(text.split()), _MAX_URL) if len(text) <= _MAX_URL else ""


def _plain(value: object, most: int) -> str:
    return readable(" ".join(unescape(value[: 4 * most]).split()), most) if isinstance(value, str) else ""
