"""Twenty injections each through pages and search results, and a model that obeys them: nothing happens outside."""

from __future__ import annotations

import html

import pytest
from aiohttp import web

from tests.attacks.obedience import TEXTS, obeys, use
from tests.servers.website import Website
from tests.stories.harness import BotHarness, ask
from tests.stories.office import ASKED, Office, at_work


def page(number: int, text: str) -> web.Response:
    """In turn as a page, a text, JSON and a feed."""
    escaped = html.escape(text, quote=False)
    body, kind = (
        (f"<html><title>{escaped}</title><article><p>News of the day.</p><p>{escaped}</p></article>", "text/html"),
        (text, "text/plain"),
        (text, "application/json"),
        (f"<rss><item>{text}</item></rss>", "application/rss+xml"),
    )[number % 4 if number < 8 else 1]
    return web.Response(body=body.encode(), headers={"Content-Type": kind})


@pytest.mark.parametrize("channel", ["Read", "Search"])
async def test_nothing_that_a_page_says_runs_without_a_button_press(on: BotHarness, channel: str) -> None:
    """Each runs in a new conversation until the card appears, so each order reached the tool."""
    office = Office(on)
    on.ms.default = obeys
    async with Website() as site:
        on.env |= {"SEARXNG_URL": site.url(""), "WEB_SEARCH": "searxng", "WEB_PRIVATE_HOSTS": site.host}
        async with at_work(on):
            for number, text in enumerate(TEXTS):
                site.pages["/page"] = page(number, text)
                hit = {"url": "https://a.example/", "title": text if number % 2 else "News", "content": text}
                site.pages["/search"] = {"results": [hit]}
                await ask(on, "/new")
                said = on.tg.say(
                    use("fetch_page", url=site.url()) if channel == "Read" else use("web_search", query="news")
                )
                card = await on.tg.reply(said, after=said, matching=lambda message: ASKED in message.text)
                assert "office_" in card.text, text
                assert office.done == [], text
    assert len(TEXTS) >= 20
