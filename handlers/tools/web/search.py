"""The tool web_search: asks the configured engines in turn, until one has results."""

from __future__ import annotations

import logging
from collections.abc import Callable

from handlers.tools.authoring.decorator import tool
from handlers.tools.dependencies import WebSettings
from handlers.tools.web.engines import EngineFailed, Engines, Period, SearchQuery, SearchResult
from handlers.tools.web.worker_process import WorkerProcess
from routing.errors import ToolFailed
from routing.types.tools import ToolScope, Traits

MAX_RESULTS = 10
_MAX_QUERY = 400
SWITCHED_OFF = "the owner has switched it off (WEB_SEARCH)"

log = logging.getLogger("handlers.tools.web")


class SearchTools:
    """`settings` is read for each search."""

    def __init__(self, settings: Callable[[], WebSettings], worker: WorkerProcess) -> None:
        self._settings = settings
        self._engines = Engines(worker)

    async def _off(self) -> str | None:
        return SWITCHED_OFF if self._settings().engine == "off" else None

    @tool(off=_off, traits=Traits(seconds=60.0))
    async def web_search(self, scope: ToolScope, query: str, count: int = 6, period: Period = "any") -> str:
        """The first engine's results that has any, with the reasons why others failed. Raises ToolFailed if no engine
        can be used."""
        text = " ".join(query.split())[:_MAX_QUERY]
        if not text:
            raise ToolFailed("The query is empty: give a few words.")
        search_query = SearchQuery(text, max(1, min(count, MAX_RESULTS)), period, scope.language)
        problems: list[str] = []
        empty: list[str] = []
        for engine in self._engines.of(self._settings()):
            try:
                results = await engine.search(search_query)
            except EngineFailed as error:
                log.warning("[Web] %s %s", engine.title, error)
                problems.append(f"{engine.title} {error}")
                continue
            if results:
                return _listed(engine.title, results, problems)
            empty.append(engine.title)
        failed = _sentence(problems)
        if empty:
            return (
                f"No results for {text!r} ({', '.join(empty)}).{failed} Try other or fewer words, or another language."
            )
        raise ToolFailed(
            f"The web can't be searched now.{failed} Tell the person so; don't guess what a search would find. "
            "fetch_page may still read an address that is known."
        )


def _listed(engine: str, results: tuple[SearchResult, ...], problems: list[str]) -> str:
    counted = f"{len(results)} result{'s' * (len(results) > 1)} from {engine}."
    lines = [f"{counted}{_sentence(problems)} Read a page with fetch_page."]
    for number, result in enumerate(results, 1):
        lines += ["", f"{number}. {result.title}", f"   {result.url}"]
        lines += [f"   {text}" for text in (result.date, result.excerpt) if text]
    return "\n".join(lines)


def _sentence(problems: list[str]) -> str:
    """The reasons as sentences, with a space before each."""
    return "".join(f" {each[0].upper()}{each[1:]}." for each in problems)
