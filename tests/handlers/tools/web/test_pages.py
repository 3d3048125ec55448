"""fetch_page against a website on loopback."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import replace

import pypdf
import pytest
from aiohttp import web
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from handlers.http.addresses import PrivateHosts
from handlers.tools.authoring.decorator import runnable
from handlers.tools.dependencies import WebSettings
from handlers.tools.web.pages import PageTools
from handlers.tools.web.worker_process import WorkerProcess
from routing.errors import ToolFailed
from routing.types.decisions import Size
from tests.handlers.tools.files import scope
from tests.servers.website import Website, redirect

ARTICLE = """<!doctype html><html lang="en"><head><title>Bridges of the Rhine | River News</title>
<meta property="og:title" content="Bridges of the Rhine"><meta property="article:published_time" content="2026-03-14">
</head><body><nav><a href="/">Home</a> <a href="/ads">Buy now</a></nav><article><h1>Bridges of the Rhine</h1>
<p>The oldest bridge that still stands was opened in 1859, and it carries <a href="/trains">trains</a> to this day.</p>
<table><tr><th>Bridge</th><th>Year</th></tr><tr><td>Waldshut</td><td>1859</td></tr></table>
<p>Another paragraph with enough words\u200b to be counted as the content of this article by every reader.</p></article>
<script>var secret = 1;</script><footer>Cookies</footer></body></html>"""


@pytest.fixture
async def site() -> AsyncIterator[Website]:
    async with Website(page=ARTICLE) as made:
        yield made


class Reader:
    """One PageTools with its own clock."""

    def __init__(self, site: Website) -> None:
        settings = WebSettings(private_hosts=PrivateHosts.parse(site.host))
        self.now = 0.0
        self._tool = runnable(PageTools(lambda: settings, WorkerProcess(), lambda: self.now).fetch_page)

    async def read(self, url: str, size: Size = "XL", **arguments: object) -> str:
        return await self._tool.execute(replace(scope(), size=size), url=url, **arguments)


def served(body: bytes, kind: str) -> web.Response:
    return web.Response(body=body, headers={"Content-Type": kind} if kind else {})


def pdf(*pages: str, password: str = "") -> bytes:
    """A PDF document with a line of text per page."""
    writer = pypdf.PdfWriter()
    writer.add_metadata({"/Title": "Annual report", "/CreationDate": "D:20260102030405Z"})
    font = DictionaryObject({NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1"),
                             NameObject("/BaseFont"): NameObject("/Helvetica")})  # fmt: skip
    for text in pages:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


async def test_an_article_comes_with_title_address_and_date(site: Website) -> None:
    site.pages["/old"] = redirect("/page")
    told = await Reader(site).read(site.url("/old"))
    assert told.startswith(
        f"Title: Bridges of the Rhine\nAddress: {site.url()}\nDate: 2026-03-14\n\n# Bridges of the Rhine"
    )
    assert "it carries trains to this day" in told
    assert "| Waldshut | 1859 |" in told
    for absent in ("Buy now", "secret", "Cookies", "\u200b"):
        assert absent not in told


async def test_links_are_included_on_request(site: Website) -> None:
    assert f"[trains]({site.url('/trains')})" in await Reader(site).read(site.url(), links=True)


async def test_a_page_without_an_article_is_read_whole(site: Website) -> None:
    site.pages["/page"] = "<html><head><title>Hours</title></head><body><div>Mon</div><div>9 to 5</div></body></html>"
    told = await Reader(site).read(site.url())
    assert told.splitlines()[0] == "Title: Hours"
    assert "Mon" in told
    assert "9 to 5" in told


async def test_declared_encodings_are_used(site: Website) -> None:
    text = "<html><body><p>Широкая электрификация южных губерний</p></body></html>"
    site.pages["/page"] = served(text.encode("windows-1251"), "text/html; charset=windows-1251")
    assert "электрификация" in await Reader(site).read(site.url())
    meta = text.replace("<html>", "<html><head><meta charset='koi8-r'></head>").encode("koi8-r")
    site.pages["/page"] = served(meta, "text/html")
    assert "электрификация" in await Reader(site).read(site.url())


async def test_a_long_text_comes_in_parts_of_one_version(site: Website) -> None:
    reader = Reader(site)
    text = "\n".join(f"line {number:05}" for number in range(1_000))
    site.pages["/page"] = served(text.encode(), "text/plain")
    first = await reader.read(site.url(), "S")
    assert "Part 1 of 3; call fetch_page with part=2 for the next.\n\nline 00000\n" in first
    site.pages["/page"] = served(b"changed", "text/plain")
    rest = [(await reader.read(site.url(), "S", part=part)).partition("\n\n")[2] for part in (2, 3)]
    assert "\n".join([first.partition("\n\n")[2], *rest]) == text
    with pytest.raises(ToolFailed, match="There is no part 4: the page has 3"):
        await reader.read(site.url(), "S", part=4)
    assert len(site.asked) == 1
    reader.now = 601.0
    with pytest.raises(ToolFailed, match="There is no part 2: the page has 1"):
        await reader.read(site.url(), "S", part=2)


async def test_a_pdf_document_is_read_page_by_page(site: Website) -> None:
    site.pages["/page"] = served(pdf("First page", "", "Third page"), "application/pdf")
    told = await Reader(site).read(site.url())
    assert told == (
        f"Title: Annual report\nAddress: {site.url()}\nDate: 2026-01-02\n\n"
        "[Page 1]\nFirst page\n\n\n\n[Page 3]\nThird page"
    )


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (b'{"a": [1, 2]}', "application/json; charset=utf-8", '{"a": [1, 2]}'),
        (b"<rss><item/></rss>", "application/rss+xml", "<rss><item/></rss>"),
        (b"a,b\n1,2", "text/csv", "a,b\n1,2"),
        (b"plain", "", "plain"),
        (b"<!DOCTYPE html><p>Hello there</p>", "", "Hello there"),
        ("caf\u00e9 cr\u00e8me br\u00fbl\u00e9e".encode("latin-1"), "text/plain", "caf\u00e9 cr\u00e8me"),
    ],
)
async def test_text_is_shown_as_it_is(site: Website, body: bytes, kind: str, shown: str) -> None:
    site.pages["/page"] = served(body, kind)
    assert shown in await Reader(site).read(site.url())


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\0", "image/png", r"is a PNG image \(image/png, 9 bytes\), which has no text"),
        (b"PK\x03\x04abc", "application/zip", "a ZIP archive or an office document"),
        (b"\0\1\2", "application/octet-stream", r"is a file \(application/octet-stream"),
        (b"\0\1\2", "text/plain", "which has no text to read"),
        (b"  ", "text/html", "is empty"),
        (b"<html><head><title>App</title></head><body><script>go()</script></body></html>", "text/html",
         r"has no readable text \(App\): it may need a browser"),
        (b"%PDF-1.7 nonsense", "application/pdf", "is a PDF document and could not be read"),
        (pdf(""), "application/pdf", "without text, probably scanned"),
        (pdf("Secret", password="x"), "application/pdf", "with a password"),
    ],
)  # fmt: skip
async def test_what_has_no_text_is_refused_with_what_it_is(site: Website, body: bytes, kind: str, reason: str) -> None:
    site.pages["/page"] = served(body, kind)
    with pytest.raises(ToolFailed, match=reason):
        await Reader(site).read(site.url())


async def test_the_beginning_of_an_enormous_page_is_read(site: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handlers.tools.web.pages.MAX_TEXT_BYTES", 1_000)
    site.pages["/page"] = served(b"x" * 5_000, "text/plain")
    told = await Reader(site).read(site.url())
    assert "The page is very long: this is from its first 1,000 bytes." in told
    assert told.endswith("\n\n" + "x" * 1_000)


async def test_only_public_addresses_are_read(site: Website) -> None:
    with pytest.raises(ToolFailed, match="private or reserved"):
        await Reader(site).read("http://127.0.0.1:9999/")
    with pytest.raises(ToolFailed, match=r"answered 404 \(Not Found\)"):
        await Reader(site).read(site.url("/missing"))
    await site.go_down()
    with pytest.raises(ToolFailed, match="refuses connections"):
        await Reader(site).read(site.url())
