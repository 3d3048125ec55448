"""A program of its own, run by `worker_process` for each job: reads a page or a PDF file, or searches without a key.

Other people's markup can take a library minutes and gigabytes, and a thread can't be stopped. The job is a line of JSON
on standard input, followed by the document; the result is JSON on standard output. Imports nothing of this project.
"""

from __future__ import annotations

import io
import json
import re
import resource
import sys
import time
from collections.abc import Mapping
from typing import Any

MAX_TEXT_CHARACTERS = 1_000_000
PDF_CPU_SECONDS = 12.0
"""After this time, the remaining pages of a PDF file are left out."""
ENGINE_SECONDS = 5
ENGINES = ("duckduckgo", "brave", "mojeek", "startpage", "yahoo")
DATE = "substring-before(.//*[contains(@class, 'extras__url')]/span[last()], 'T')"
"""Where DuckDuckGo's result page has the day of a result. The library reads no dates."""
_ENCODING = re.compile(
    r"utf-?8|us-ascii|(?:iso-8859|windows|cp)-?\d{1,4}|koi8-[ru]|gb(?:2312|k|18030)|big5|euc-(?:jp|kr)|"
    r"shift[_-]jis|iso-2022-jp|latin-?1|utf-16(?:le|be)?"
)
"""Encodings of web pages. Python knows others, some of which are slow or no encodings of text."""
_DECLARED = re.compile(rb"<meta[^<>]{0,200}charset=[\"']?([A-Za-z0-9_\-]{2,20})")


def read_html(document: bytes, job: Mapping[str, Any]) -> dict[str, Any]:
    """The main text of a page as Markdown, or all of its text if no main part is found."""
    import trafilatura

    html = _decoded(document, str(job.get("charset", "")))
    found = trafilatura.extract_with_metadata(
        html,
        url=str(job.get("url", "")),
        output_format="markdown",
        include_comments=False,
        include_links=bool(job.get("links")),
    )
    text = str(found.text or "") if found is not None else ""
    text = text.partition("\n---\n")[2] if text.startswith("---\n") else text
    title, date = (found.title, found.date) if found is not None else (_title(html), "")
    return {"title": title or "", "date": date or "", "text": text.strip() or str(trafilatura.html2txt(html))}


def _title(html: str | bytes) -> str:
    import trafilatura

    tree = trafilatura.load_html(html)
    return str(tree.findtext(".//title") or "") if tree is not None else ""


def read_pdf(document: bytes, job: Mapping[str, Any]) -> dict[str, Any]:
    """The text of the pages, as many as there is time for. A document without text is probably scanned."""
    import pypdf

    file = pypdf.PdfReader(io.BytesIO(document))
    if file.is_encrypted and not file.decrypt(""):
        return {"problem": "is a PDF document with a password"}
    count, size, pages = len(file.pages), 0, list[str]()
    while len(pages) < count and size < MAX_TEXT_CHARACTERS and time.process_time() < PDF_CPU_SECONDS:
        pages.append(_page(file, len(pages)))
        size += len(pages[-1])
    about = file.metadata
    date = about.creation_date if about is not None and "/CreationDate" in about else None
    found = {"title": str(about.title or "") if about is not None else "", "date": f"{date:%Y-%m-%d}" if date else ""}
    return {**found, "text": "\n\n".join(pages).strip(), "read": len(pages), "pages": count}


def _page(file: Any, number: int) -> str:
    text = str(file.pages[number].extract_text()).strip()
    return f"[Page {number + 1}]\n{text}" if text else ""


def search(_document: bytes, job: Mapping[str, Any]) -> dict[str, Any]:
    """The results of the first engine that has any; `problems` are the other engines and why they gave none."""
    from ddgs import DDGS
    from ddgs.engines import ENGINES as known
    from ddgs.exceptions import DDGSException, TimeoutException

    names = tuple(name for name in ENGINES if name in known["text"])
    if "duckduckgo" in names:
        engine: Any = known["text"]["duckduckgo"]
        engine.elements_xpath = {**engine.elements_xpath, "date": DATE}
    if job.get("address"):
        names = names[:1]
        known["text"][names[0]].search_url = str(job["address"])
    problems = {}
    for name in names:
        client = DDGS(proxy=job.get("proxy"), timeout=ENGINE_SECONDS)
        try:
            found = client.text(
                str(job["query"]),
                region=str(job["region"]),
                timelimit=job.get("period"),
                max_results=int(job["count"]),
                backend=name,
            )
        except TimeoutException:
            problems[name] = "did not answer"
        except DDGSException as error:
            problems[name] = "gave no results" if str(error) == "No results found." else "can't be reached"
        else:
            return {"engine": name, "results": found, "problems": problems}
    return {"engine": "", "results": [], "problems": problems}


def _decoded(document: bytes, charset: str) -> str | bytes:
    """The text, if the answer or the page names a usable encoding; otherwise trafilatura guesses it."""
    declared = _DECLARED.search(document[:4096].lower())
    for name in (charset, declared[1].decode() if declared else ""):
        if _ENCODING.fullmatch(name):
            try:
                return document.decode(name, "replace")
            except LookupError:
                continue
    return document


def limit(cpu_seconds: int, memory_bytes: int) -> None:
    """Limit this process; the system ends it when it exceeds a limit."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


JOBS = {"html": read_html, "pdf": read_pdf, "search": search}


def main() -> None:
    job = json.loads(sys.stdin.buffer.readline())
    limit(job["cpu_seconds"], job["memory_bytes"])
    found = JOBS[job["kind"]](sys.stdin.buffer.read(), job)
    if "text" in found:
        found["text"] = found["text"][:MAX_TEXT_CHARACTERS]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
