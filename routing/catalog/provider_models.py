"""Lists a provider's models over HTTP: three formats, paged, bounded; the key is sent to one host only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from routing.errors import TierbotError
from routing.types.llm import ApiType
from routing.types.model_names import is_model_name

# For all pages; the longest known list, an aggregator's with prices, is about 1 MB.
MAX_BYTES = 8 * 1024 * 1024
MAX_PAGES = 50
MAX_REDIRECTS = 3
MAX_NAME_CHARACTERS = 200

Row = tuple[str, str]


class DiscoveryError(TierbotError):
    """One sentence for the owner. `status` is for our own HTTP response, `upstream` is the provider's."""

    def __init__(self, status: Literal[400, 502], sentence: str, upstream: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.upstream = upstream


@dataclass(frozen=True, slots=True)
class ListFormat:
    """How a kind of provider lists models. `cursor` is the parameter for the next page."""

    usual_path: str
    key_header: str
    rows: str
    name: str
    headers: Mapping[str, str]
    first: Mapping[str, str]
    cursor: str = ""

    def authorised(self, key: str) -> dict[str, str]:
        """The headers of a request. The key is never in the URL, which logs may contain."""
        shown = f"Bearer {key}" if self.key_header == "authorization" else key
        return {"accept": "application/json", self.key_header: shown, **self.headers}

    def next_page(self, document: Mapping[str, Any]) -> str:
        """The cursor of the next page; empty after the last."""
        if self.cursor == "after_id":
            cursor = document.get("last_id") if document.get("has_more") is True else None
        else:
            cursor = document.get("nextPageToken") if self.cursor else None
        return cursor if isinstance(cursor, str) else ""


LIST_FORMATS: Mapping[ApiType, ListFormat] = {
    "openai": ListFormat("/v1", "authorization", "data", "id", {}, {}),
    "anthropic": ListFormat(
        "/v1", "x-api-key", "data", "id", {"anthropic-version": "2023-06-01"}, {"limit": "1000"}, "after_id"
    ),
    "gemini": ListFormat("/v1beta", "x-goog-api-key", "models", "name", {}, {"pageSize": "1000"}, "pageToken"),
}


class Listing:
    """Reads all pages of one list. Raises DiscoveryError 502 and httpx's errors."""

    def __init__(self, web: httpx.AsyncClient, provider: str, variable: str, form: ListFormat, key: str) -> None:
        self._web = web
        self._provider = provider
        self._variable = variable
        self._form = form
        self._headers = form.authorised(key)
        self._left = MAX_BYTES

    async def everything(self, url: httpx.URL) -> list[Row]:
        """Name and display name of every model, in the provider's order."""
        rows: list[Row] = []
        cursor, asked = "", {""}
        for _ in range(MAX_PAGES):
            more = {self._form.cursor: cursor} if cursor else {}
            document = await self._get(url.copy_merge_params({**self._form.first, **more}))
            rows += self._rows(document)
            cursor = self._form.next_page(document) if isinstance(document, dict) else ""
            if not cursor:
                return rows
            if cursor in asked:
                break
            asked.add(cursor)
        raise self._fault("sent a list of models without an end")

    async def _get(self, url: httpx.URL) -> object:
        for _ in range(MAX_REDIRECTS + 1):
            request = self._web.build_request("GET", url, headers=self._headers, timeout=None)
            response = await self._web.send(request, stream=True, follow_redirects=False)
            try:
                if not response.is_redirect:
                    return await self._document(response)
            finally:
                await response.aclose()
            url = self._redirected(url, response)
        raise self._fault("redirects in a circle", response.status_code)

    def _redirected(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        target = url.join(response.headers.get("location", ""))
        if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port):
            where = f"redirects to {target.host or 'nowhere'}; the key was not sent there, set the base URL"
            raise self._fault(where, response.status_code)
        return target

    async def _document(self, response: httpx.Response) -> object:
        status = response.status_code
        if status in (401, 403):
            raise self._fault(f"refused the key (HTTP {status}): check {self._variable}", status)
        if status != 200:
            raise self._fault(f"answered HTTP {status} when asked for its models", status)
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._left:
                raise self._fault(f"sent more than {MAX_BYTES // 2**20} MB of models", status)
        self._left -= len(body)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._fault("answered with something that is not JSON: check the base URL", status) from error

    def _rows(self, document: object) -> list[Row]:
        # Together AI sends a bare list; Google omits an empty one.
        absent: object = [] if self._form.rows == "models" else None
        items = document.get(self._form.rows, absent) if isinstance(document, dict) else document
        if not isinstance(items, list):
            raise self._fault("answered without a list of models: check the base URL", 200)
        named = [(_name(item, self._form), item) for item in items if isinstance(item, dict)]
        return [(name, _shown(item, name)) for name, item in named if name]

    def _fault(self, what: str, upstream: int | None = None) -> DiscoveryError:
        return DiscoveryError(502, f"{self._provider} {what}.", upstream)


def _name(item: Mapping[str, Any], form: ListFormat) -> str:
    """A model's name; empty if it can't generate text or the name is invalid."""
    name = item.get(form.name)
    if not isinstance(name, str):
        return ""
    if form.name == "name":
        methods = item.get("supportedGenerationMethods")
        if not isinstance(methods, list) or "generateContent" not in methods:
            return ""
        name = name.removeprefix("models/")
    return name if is_model_name(f"x/{name}") else ""


def _shown(item: Mapping[str, Any], name: str) -> str:
    """The display name (`name` at OpenRouter and Mistral), without control characters."""
    given = (item.get(key) for key in ("displayName", "display_name", "name"))
    text = next((text for text in given if isinstance(text, str) and text != f"models/{name}"), name)
    return "".join(char for char in text if char.isprintable()).strip()[:MAX_NAME_CHARACTERS] or name
