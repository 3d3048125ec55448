"""web_search against search services on loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from aiohttp import web

from handlers.tools.authoring.decorator import runnable
from handlers.tools.dependencies import WebSettings
from handlers.tools.web.search import SearchTools
from handlers.tools.web.worker_process import WorkerProcess
from routing.errors import ToolFailed
from tests.handlers.tools.files import scope
from tests.servers.website import Website

RESULT_PAGE = Path(__file__).with_name("duckduckgo.html").read_text(encoding="utf-8")
NOTHING_FOUND = Path(__file__).with_name("duckduckgo_nothing.html").read_text(encoding="utf-8")
"""In the form that html.duckduckgo.com sends."""
KEY = "BSA-test-0123456789abcdef"
SEARXNG = {
    "query": "python",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://www.python.org/",
            "title": "Welcome to Python.org",
            "content": "The official home of the &quot;Python&quot; language.",
            "publishedDate": "2026-10-07T00:00:00",
            "engine": "bing",
            "score": 4.0,
        },
        {"url": "https://docs.python.org/3/", "title": "Python 3", "content": "", "publishedDate": None},
        {"url": "https://www.python.org/", "title": "The same again", "content": ""},
        {"url": "magnet:?xt=urn", "title": "No web page", "content": ""},
    ],
    "answers": [],
    "unresponsive_engines": [["google", "timeout"]],
}
BRAVE = {
    "type": "search",
    "query": {"original": "python"},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Python at Brave",
                "url": "https://www.python.org/downloads/",
                "description": "Version 3.15",
                "page_age": "2026-10-07T00:00:00",
                "age": "October 7, 2026",
            }
        ],
    },
}
TAVILY = {
    "query": "python",
    "answer": None,
    "results": [{"title": "Python at Tavily", "url": "https://docs.python.org/", "content": "Docs.", "score": 0.9}],
    "response_time": 1.2,
}


@pytest.fixture
async def site() -> AsyncIterator[Website]:
    made = Website(page=RESULT_PAGE)
    made.pages |= {"/searx/search": SEARXNG, "/brave/res/v1/web/search": BRAVE, "/tavily/search": TAVILY}
    async with made:
        yield made


def settings(site: Website, engine: str = "auto", **fields: Any) -> WebSettings:
    """Every service at the site; `fields` change them."""
    every = WebSettings(
        engine=engine,
        searxng_url=site.url("/searx/"),
        brave_root=site.url("/brave"),
        brave_key=KEY,
        tavily_root=site.url("/tavily"),
        tavily_key="tvly-0123456789",
        duckduckgo_url=site.url(),
    )
    return replace(every, **fields)


async def search(chosen: WebSettings, query: str = "python", language: str = "", **arguments: Any) -> str:
    tools = SearchTools(lambda: chosen, WorkerProcess())
    return await runnable(tools.web_search).execute(replace(scope(), language=language), query=query, **arguments)


async def test_results_have_title_address_date_and_excerpt(site: Website) -> None:
    told = await search(settings(site, brave_key="", tavily_key=""), " python\n release ", period="month")
    assert told == (
        "2 results from SearXNG. Read a page with fetch_page.\n\n"
        "1. Welcome to Python.org\n   https://www.python.org/\n   2026-10-07T00:00:00\n"
        '   The official home of the "Python" language.\n\n'
        "2. Python 3\n   https://docs.python.org/3/"
    )
    assert site.params() == {"q": "python release", "format": "json", "time_range": "month"}


async def test_brave_and_tavily_get_their_keys(site: Website) -> None:
    assert "1. Python at Brave\n   https://www.python.org/downloads/" in await search(
        settings(site, "brave"), count=30, period="week"
    )
    assert site.params() == {"q": "python", "count": "10", "text_decorations": "false", "freshness": "pw"}
    assert site.asked[-1].headers["X-Subscription-Token"] == KEY
    assert "1. Python at Tavily" in await search(settings(site, "tavily"), period="year", count=0)
    assert site.asked[-1].headers["Authorization"] == "Bearer tvly-0123456789"
    assert site.bodies[-1] == b'{"query": "python", "max_results": 1, "time_range": "year"}'


async def test_without_a_key_a_result_page_is_read(site: Website) -> None:
    told = await search(settings(site, "ddgs"), "newest python release", language="de", period="day")
    assert told.startswith("3 results from the search without a key.")
    assert "2. Download Python | Python.org\n   https://www.python.org/downloads/\n   2026-10-07\n   The newest" in told
    assert "3. What's New In Python 3.15 — Python documentation" in told
    assert "1. History of Python - Wikipedia\n   https://en.wikipedia.org/wiki/History_of_Python\n" in told
    assert "Learn Python Fast" not in told
    assert "javascript" not in told
    assert parse_qs(site.bodies[-1].decode()) == {"q": ["newest python release"], "l": ["de-de"], "df": ["d"]}


async def test_a_page_without_results_has_none(site: Website) -> None:
    site.pages["/page"] = NOTHING_FOUND
    assert (await search(settings(site, "ddgs"), "qwfpgjluy")).startswith("No results for 'qwfpgjluy'")


async def test_a_blocked_search_without_a_key_is_told(site: Website) -> None:
    site.pages["/page"] = web.Response(status=202, text="<div class='anomaly-modal'>Bots use DuckDuckGo too</div>")
    assert (await search(settings(site, "ddgs"))).startswith("No results for 'python' (the search without a key).")
    await site.go_down()
    with pytest.raises(ToolFailed, match=r"The search without a key failed \(duckduckgo can't be reached\)\."):
        await search(settings(site, "ddgs"))


async def test_the_next_engine_answers_with_the_reason(site: Website, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    site.pages["/searx/search"] = web.Response(status=403)
    site.pages["/brave/res/v1/web/search"] = web.Response(status=422, text=f"bad token {KEY}")
    told = await search(settings(site))
    assert told.startswith(
        "1 result from Tavily. SearXNG does not allow JSON (add json to search.formats in its settings.yml), or "
        "refuses this address. Brave does not accept the key (BRAVE_API_KEY). Read a page"
    )
    assert KEY not in told + caplog.text
    assert "[Web] Brave does not accept the key" in caplog.text


async def test_nothing_found_is_no_failure(site: Website) -> None:
    site.pages["/searx/search"] = {"results": [], "unresponsive_engines": []}
    site.pages["/brave/res/v1/web/search"] = {"type": "search", "query": {"original": "x"}}
    told = await search(settings(site, tavily_key=""), "qwxyz")
    assert told.startswith("3 results from the search without a key.")
    site.pages["/page"] = "<html><body><div class='no-results'>No results.</div></body></html>"
    told = await search(settings(site, tavily_key=""), "qwxyz")
    assert told == (
        "No results for 'qwxyz' (SearXNG, Brave, the search without a key)."
        " Try other or fewer words, or another language."
    )


async def _silent(_request: web.BaseRequest) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (web.Response(status=401), r"answered 401"),
        (web.Response(status=429), "has been asked too often"),
        (web.Response(status=402), "has no quota left"),
        (web.Response(status=503), r"answered 503 \(Service Unavailable\)"),
        (web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), r"answered 302"),
        ("<html>Sign in</html>", "not a list of results"),
        ([1, 2], "not a list of results"),
        ({"results": {"a": 1}}, "not a list of results"),
        ("[" * 100_000, "not a list of results"),
        ("x" * 2_100_000, "sent more than 2,000,000 bytes"),
        ({"results": [], "unresponsive_engines": [["google", "CAPTCHA"]]}, "got no answer from its 1 engines"),
        (_silent, r"did not answer within 0\.2 s"),
        (None, "answered 404"),
    ],
)
async def test_each_failure_is_told(site: Website, monkeypatch: pytest.MonkeyPatch, page: object, reason: str) -> None:
    monkeypatch.setattr("handlers.tools.web.engines.SECONDS", 0.2 if page is _silent else 8.0)
    site.pages["/searx/search"] = page
    with pytest.raises(ToolFailed, match=f"The web can't be searched now. SearXNG .*{reason}.* Tell the person"):
        await search(settings(site, "searxng"))


async def test_odd_results_are_left_out_or_shortened(site: Website) -> None:
    odd: list[object] = [
        None, 7, [], {}, {"url": None}, {"url": 5}, {"url": "https://"}, {"url": "https://[/"}, {"url": "file:///x"},
        {"url": "https://a.example/" + "x" * 600},
        {"url": "https://a.example/\u202e\u200b1", "title": "t\u202e\n" * 999},
        {"url": "https://b.example/", "title": ["x"], "content": {"y": 1}, "publishedDate": 5},
    ]  # fmt: skip
    site.pages["/searx/search"] = {"results": odd * 3}
    told = await search(settings(site, "searxng"))
    assert told.startswith("3 results from SearXNG.")
    assert "\u202e" not in told
    assert len(told) < 700


async def test_a_forced_engine_that_is_not_configured_says_what_is_missing() -> None:
    for engine, missing in (("searxng", "SEARXNG_URL"), ("brave", "BRAVE_API_KEY"), ("tavily", "TAVILY_API_KEY")):
        with pytest.raises(ToolFailed, match=missing):
            await search(WebSettings(engine=engine))


async def test_search_can_be_switched_off_and_needs_words() -> None:
    tool = runnable(SearchTools(lambda: WebSettings(engine="off"), WorkerProcess()).web_search)
    assert tool.off is not None
    assert await tool.off() == "the owner has switched it off (WEB_SEARCH)"
    with pytest.raises(ToolFailed, match="query is empty"):
        await search(WebSettings(), "  \n ")


def test_keys_are_not_shown_with_the_settings() -> None:
    assert KEY not in repr(WebSettings(brave_key=KEY, tavily_key=KEY, proxy=f"http://a:{KEY}@b"))
