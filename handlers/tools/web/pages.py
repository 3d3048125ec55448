"""The tool fetch_page: the readable text of a public web page, PDF or text file, in parts."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING

from handlers.tools.authoring.decorator import tool
from handlers.tools.decoding import text_of
from handlers.tools.dependencies import WebSettings
from handlers.tools.mcp.text import cleaned, readable
from handlers.tools.web.worker_process import WorkerFailed, WorkerProcess
from routing.bounded import Bounded
from routing.errors import ToolFailed
from routing.types.decisions import Size
from routing.types.tools import ToolScope, Traits

if TYPE_CHECKING:
    from handlers.http.client import Response

FETCH_SECONDS = 20.0
READ_SECONDS = 15.0
MAX_BYTES = 20_000_000
MAX_HTML_BYTES = 3_000_000
"""Of longer pages only the beginning is read."""
MAX_TEXT_BYTES = 2_000_000
PART_CHARACTERS: dict[Size, int] = {"S": 4_000, "M": 8_000, "L": 16_000, "XL": 16_000}
KEPT_PAGES = 8
KEPT_SECONDS = 600.0
"""How long a text is kept for the next parts."""
_ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,application/json;q=0.8,*/*;q=0.1"
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-ndjson|sql|rtf)")
_KINDS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"\x1f\x8b": "a compressed file",
    b"\x7fELF": "a program",
}
_HIDDEN = re.compile(r"<(script|style|noscript|template)\b", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*+>")

log = logging.getLogger("handlers.tools.web")


@dataclass(frozen=True, slots=True)
class Page:
    """`note` says what is missing from the text."""

    url: str
    title: str
    date: str
    text: str
    note: str = ""


class PageTools:
    """`settings` is read for each page. The newest texts are kept, so that the parts of one belong together."""

    def __init__(
        self, settings: Callable[[], WebSettings], worker: WorkerProcess, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._worker = worker
        self._now = now
        self._kept = Bounded[tuple[str, bool], tuple[float, Page]](KEPT_PAGES)

    @tool(traits=Traits(seconds=45.0))
    async def fetch_page(self, scope: ToolScope, url: str, part: int = 1, links: bool = False) -> str:
        """One part of the page's text, after its title, address and date. Raises ToolFailed for addresses that are not
        public, and for what can't be read as text."""
        page = self._recent(url, links) if part > 1 else None
        if page is None:
            page = await self._fetched(url, links)
            self._kept[url, links] = self._now(), page
        return _part(page, part, PART_CHARACTERS[scope.size])

    def _recent(self, url: str, links: bool) -> Page | None:
        at, page = self._kept.get((url, links), (0.0, None))
        return page if page is not None and self._now() - at < KEPT_SECONDS else None

    async def _fetched(self, url: str, links: bool) -> Page:
        from handlers.http.client import HttpClient, Request  # loads aiohttp

        settings = self._settings()
        request = Request(headers={"Accept": _ACCEPT}, seconds=FETCH_SECONDS, most_bytes=MAX_BYTES, cut=True)
        answer = await HttpClient.guarded(settings.proxy, settings.private_hosts).send(url, request)
        return await self.read(answer, links)

    async def read(self, answer: Response, links: bool = False) -> Page:
        """The text of an answer. Raises ToolFailed if it is not text."""
        body, kind = answer.body, answer.media_type
        if not body.strip():
            raise ToolFailed(f"{answer.url} is empty.")
        if body.startswith(b"%PDF-") or kind == "application/pdf":
            return await self._pdf(answer)
        unknown = kind in ("", "application/octet-stream")
        if kind in _HTML or (unknown and body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))):
            return await self._html(answer, links)
        if not (unknown or _TEXT.fullmatch(kind)):
            raise _no_text(answer)
        text = await asyncio.to_thread(_text, answer)
        return Page(answer.url, "", "", text, _cut_note(answer, MAX_TEXT_BYTES))

    async def _html(self, answer: Response, links: bool) -> Page:
        body, note = answer.body[:MAX_HTML_BYTES], _cut_note(answer, MAX_HTML_BYTES)
        job = {"kind": "html", "url": answer.url, "charset": answer.charset, "links": links}
        try:
            found = await self._worker.run(job, body, seconds=READ_SECONDS)
        except WorkerFailed as error:
            log.warning("[Web] A page of %d bytes %s", len(body), error)
            text = await asyncio.to_thread(_without_tags, body.decode("utf-8", "replace"))
            found, note = {"text": text}, f"{note} The page is unusually complex: this is its plain text.".strip()
        text = await asyncio.to_thread(cleaned, found["text"])
        page = Page(answer.url, _line(found.get("title")), _line(found.get("date")), text, note)
        if not page.text.strip():
            raise ToolFailed(
                f"{answer.url} has no readable text{f' ({page.title})' if page.title else ''}: it may need a browser."
            )
        return page

    async def _pdf(self, answer: Response) -> Page:
        if answer.cut:
            raise ToolFailed(f"{answer.url} is a PDF document of more than {MAX_BYTES:,} bytes, which is too large.")
        try:
            found = await self._worker.run({"kind": "pdf"}, answer.body, seconds=READ_SECONDS)
        except WorkerFailed as error:
            raise ToolFailed(f"{answer.url} is a PDF document and {error}.") from None
        if "problem" in found:
            raise ToolFailed(f"{answer.url} {found['problem']}.")
        if not found["text"]:
            raise ToolFailed(f"{answer.url} is a PDF document without text, probably scanned pictures of pages.")
        read, pages = found["read"], found["pages"]
        note = f"Only the first {read:,} of {pages:,} pages could be read." if read < pages else ""
        text = await asyncio.to_thread(cleaned, found["text"])
        return Page(answer.url, _line(found["title"]), _line(found["date"]), text, note)


def _part(page: Page, number: int, size: int) -> str:
    """The part with what is known about the page above it. Raises ToolFailed if there is no such part."""
    parts = _split(page.text, size)
    if not 1 <= number <= len(parts):
        raise ToolFailed(f"There is no part {number}: the page has {len(parts)}.")
    head = (
        [f"Title: {page.title}"] * bool(page.title)
        + [f"Address: {page.url}"]
        + [f"Date: {page.date}"] * bool(page.date)
    )
    if len(parts) > 1:
        more = f"; call fetch_page with part={number + 1} for the next" if number < len(parts) else ""
        head.append(f"Part {number} of {len(parts)}{more}.")
    return "\n".join([*head, *([page.note] if page.note else []), "", parts[number - 1]])


def _split(text: str, size: int) -> list[str]:
    """Parts of at most `size` characters, which end at a line or word if one ends in their last fifth."""
    parts, start = [], 0
    while len(text) - start > size:
        end = start + size
        for mark in ("\n", " "):
            if (found := text.rfind(mark, end - size // 5, end)) > 0:
                end = found
                break
        parts.append(text[start:end].strip())
        start = end
    return [*parts, text[start:].strip()]


def _text(answer: Response) -> str:
    try:
        return cleaned(text_of(answer.body[:MAX_TEXT_BYTES], answer.url))
    except ToolFailed:
        raise _no_text(answer) from None


def _no_text(answer: Response) -> ToolFailed:
    kind = answer.media_type[:60] or "no type"
    what = next((name for start, name in _KINDS.items() if answer.body.startswith(start)), "a file")
    return ToolFailed(f"{answer.url} is {what} ({kind}, {len(answer.body):,} bytes), which has no text to read.")


def _without_tags(html: str) -> str:
    """A page's text in linear time, with no regard to its structure."""
    kept, start = [], 0
    while (found := _HIDDEN.search(html, start)) is not None:
        kept.append(html[start : found.start()])
        end = html.find(f"</{found[1]}", found.end())
        start = len(html) if end < 0 else end
    kept.append(html[start:])
    return "\n".join(
        line for each in unescape(_TAG.sub("\n", "".join(kept))).splitlines() if (line := " ".join(each.split()))
    )


def _line(value: object) -> str:
    return readable(" ".join(str(value or "").split()), 200)


def _cut_note(answer: Response, most: int) -> str:
    cut = answer.cut or len(answer.body) > most
    return f"The page is very long: this is from its first {most:,} bytes." if cut else ""
