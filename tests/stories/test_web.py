"""Searching the web and reading pages: what the person and the model see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.servers.website import Website
from tests.stories.harness import BotHarness, ask, running, tool_results

KEY = "BSA-0123456789-abcdef"
HITS = {"results": [{"title": "City library", "url": "https://library.example/", "content": "Open until six."}]}


@pytest.fixture
async def site(on: BotHarness) -> AsyncIterator[Website]:
    """A website that is also the only search service."""
    async with Website(
        page="<html><title>Library</title><p>The library is open from 9 to 18 on every weekday.</p>"
    ) as made:
        made.pages["/search"] = HITS
        on.env |= {"SEARXNG_URL": made.url(""), "DUCKDUCKGO_URL": made.url("/html/"), "WEB_PRIVATE_HOSTS": made.host}
        yield made


async def test_a_question_is_searched_and_a_page_is_read(on: BotHarness, site: Website) -> None:
    shown = asyncio.Event()

    async def slowly(_request: web.BaseRequest) -> web.StreamResponse:
        await shown.wait()
        return web.json_response(HITS)

    site.pages["/search"] = slowly
    on.ms.call_tools([("web_search", {"query": "city library opening hours"})], text="Let me look that up.")
    on.ms.call_tools([("fetch_page", {"url": site.url()})])
    on.ms.reply("It is open from 9 to 18 on weekdays.")
    async with running(on):
        question = on.tg.say("When is the city library open? Search the web.")
        await on.tg.wait_for(lambda _: any("⚙️" in draft.text for draft in on.tg.drafts))
        draft = next(draft.text for draft in on.tg.drafts if "⚙️" in draft.text)
        assert draft == "Let me look that up.\n\n⚙️ web_search …"
        shown.set()
        answer = await on.tg.reply(question, after=question)
        assert answer.text == "It is open from 9 to 18 on weekdays."
        assert {"web_search", "fetch_page"} <= set(on.ms.last.reading.tool_names)
    found, read = tool_results(on)
    assert found == (
        "1 result from SearXNG. Read a page with fetch_page.\n\n"
        "1. City library\n   https://library.example/\n   Open until six."
    )
    assert read.startswith(f"Title: Library\nAddress: {site.url()}\n")
    assert read.endswith("The library is open from 9 to 18 on every weekday.")
    assert site.asked[0].query["q"] == "city library opening hours"


async def test_the_model_is_told_why_nothing_can_be_searched(on: BotHarness, site: Website) -> None:
    on.env["BRAVE_API_KEY"] = KEY
    on.env["BRAVE_API_ROOT"] = site.url("/brave")
    await site.go_down()
    on.ms.call_tools([("web_search", {"query": "news"}), ("fetch_page", {"url": site.url()})])
    on.ms.reply("I can't search the web at the moment.")
    async with running(on):
        assert (await ask(on, "What is in the news?")).text == "I can't search the web at the moment."
    searched, fetched = tool_results(on)
    assert searched == (
        "Error: The web can't be searched now. SearXNG refuses connections. Brave refuses connections. "
        "The search without a key failed (duckduckgo can't be reached). "
        "Tell the person so; don't guess what a search would find. fetch_page may still read an address that is known."
    )
    assert fetched == "Error: 127.0.0.1 refuses connections."


async def test_private_addresses_are_refused_unless_the_owner_named_them(on: BotHarness, site: Website) -> None:
    urls = [f"http://localhost:{site.port}/page", "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd"]
    on.env["WEB_PRIVATE_HOSTS"] = "wiki.intranet"
    on.ms.call_tools([("fetch_page", {"url": url}) for url in (site.url(), *urls)])
    on.ms.reply("I may not read those.")
    async with running(on):
        await ask(on, "Read my router's page")
        assert [each.startswith("Error: ") for each in tool_results(on)] == [True] * 4
    assert site.asked == []


async def test_an_owner_switches_the_search_off(on: BotHarness) -> None:
    on.env["WEB_SEARCH"] = "off"
    async with running(on):
        await ask(on, "What is in the news? Search the web.")
        assert "web_search" not in on.ms.last.reading.tool_names
        assert "fetch_page" in on.ms.last.reading.tool_names
        assert "web_search is off: the owner has switched it off (WEB_SEARCH)" in (await ask(on, "/status full")).text
