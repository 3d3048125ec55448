"""One request, its outcome, and the target of its path."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.servers.model.readings import Reading, read

Provider = Literal["openai", "anthropic", "gemini", "ollama", "unknown"]
Endpoint = Literal[
    "chat", "responses", "messages", "generate", "embeddings", "embed", "transcriptions", "speech", "images",
    "models", "show", "tags", "ps", "unknown",
]  # fmt: skip
Outcome = Literal["pending", "completed", "cut", "faulted", "refused", "stopped"]

_FIXED: Final[dict[tuple[str, str], tuple[Provider, Endpoint]]] = {
    ("POST", "/v1/chat/completions"): ("openai", "chat"),
    ("POST", "/v1/responses"): ("openai", "responses"),
    ("POST", "/v1/messages"): ("anthropic", "messages"),
    ("POST", "/v1/embeddings"): ("openai", "embeddings"),
    ("POST", "/v1/audio/transcriptions"): ("openai", "transcriptions"),
    ("POST", "/v1/audio/speech"): ("openai", "speech"),
    ("POST", "/v1/images/generations"): ("openai", "images"),
    ("POST", "/api/embed"): ("ollama", "embed"),
    ("POST", "/api/show"): ("ollama", "show"),
    ("GET", "/api/tags"): ("ollama", "tags"),
    ("GET", "/api/ps"): ("ollama", "ps"),
    ("GET", "/v1/models"): ("openai", "models"),
    ("GET", "/v1beta/models"): ("gemini", "models"),
}
_ROUTE: Final = re.compile(r"^(?P<vendor>(?:/[\w.-]+)?)(?P<path>/(?:v1(?:beta)?|api)/.+)$")
_GEMINI: Final = re.compile(r"^/v1beta/models/(?P<model>[^:]+):(?P<verb>generateContent|streamGenerateContent)$")


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a path. `vendor` is the optional first folder: one server can play several vendors."""

    provider: Provider
    endpoint: Endpoint
    vendor: str = ""
    model: str = ""
    stream: bool = False


def target(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Target:
    """The endpoint that answers `path`; provider and endpoint `unknown` where a real provider says 404."""
    found = _ROUTE.match(path)
    if found is None:
        return Target("unknown", "unknown")
    vendor, rest = found["vendor"].lstrip("/"), found["path"]
    if gemini := _GEMINI.match(rest):
        stream = gemini["verb"] == "streamGenerateContent"
        if method != "POST" or (stream and query.get("alt") != "sse"):
            return Target("gemini", "unknown", vendor)
        return Target("gemini", "generate", vendor, gemini["model"], stream)
    provider, endpoint = _FIXED.get((method, rest), ("unknown", "unknown"))
    if endpoint == "models" and provider == "openai" and {"x-api-key", "anthropic-version"} & headers.keys():
        provider = "anthropic"
    return Target(provider, endpoint, vendor)


@dataclass(slots=True, eq=False)
class ModelRequest:
    """A request in the journal. `time` is seconds since the epoch; `outcome` changes until `finished`.

    Outcomes: completed (all sent) · cut (the client closed first) · faulted (a scripted failure) ·
    refused (the request was illegal, see `violations`) · stopped (the server closed or went down).
    """

    number: int
    time: float
    method: str
    path: str
    headers: dict[str, str]
    query: dict[str, str]
    to: Target
    raw: bytes = b""
    upload: bytes = b""
    body: dict[str, Any] = field(default_factory=dict)
    outcome: Outcome = "pending"
    status: int = 0
    chunks_sent: int = 0
    violations: tuple[str, ...] = ()
    _reading: Reading | None = None
    _done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def provider(self) -> Provider:
        return self.to.provider

    @property
    def endpoint(self) -> Endpoint:
        return self.to.endpoint

    @property
    def vendor(self) -> str:
        return self.to.vendor

    @property
    def model(self) -> str:
        """The model's name as the wire carries it, without LiteLLM's prefix."""
        named = self.body.get("model", "")
        return self.to.model or (named if isinstance(named, str) else "")

    @property
    def stream(self) -> bool:
        return self.to.stream or self.body.get("stream") is True

    @property
    def embeds(self) -> bool:
        """Whether it asks for vectors instead of an answer."""
        return self.endpoint in ("embeddings", "embed")

    @property
    def is_media(self) -> bool:
        """Whether it asks for a transcript, a sound or a picture instead of an answer."""
        return self.endpoint in ("transcriptions", "speech", "images")

    @property
    def key(self) -> str:
        """The API key, whichever header or query field carries it; empty without one."""
        bearer = self.headers.get("authorization", "")
        if bearer[:7].lower() == "bearer ":
            return bearer[7:].strip()
        named = self.headers.get("x-api-key") or self.headers.get("x-goog-api-key")
        return named or self.query.get("key", "")

    @property
    def reading(self) -> Reading:
        """The body in terms common to all wire formats."""
        if self._reading is None:
            self._reading = read(self.endpoint, self.body)
        return self._reading

    @property
    def last_user_text(self) -> str:
        return self.reading.last_user_text

    def finish(self, outcome: Outcome) -> None:
        """Called by the server; the first outcome stays."""
        if self.outcome == "pending":
            self.outcome = outcome
            self._done.set()

    async def finished(self, timeout: float = 60.0) -> Outcome:
        """Waits until the outcome is known."""
        async with asyncio.timeout(timeout):
            await self._done.wait()
        return self.outcome

    def line(self) -> str:
        """One line for a terminal, without message text or key."""
        kind = "stream" if self.stream else "whole"
        name = f"{self.vendor + ':' if self.vendor else ''}{self.provider}/{self.endpoint}"
        why = f" · {'; '.join(self.violations)}" if self.violations else ""
        return f"#{self.number} {name} {self.model or '-'} {kind} → {self.status} {self.outcome}{why}"

    def row(self) -> dict[str, Any]:
        """The entry as JSON, for the control address."""
        return {
            "number": self.number, "time": self.time, "method": self.method, "path": self.path,
            "provider": self.provider, "endpoint": self.endpoint, "vendor": self.vendor,
            "model": self.model, "stream": self.stream, "headers": self.headers, "body": self.body,
            "outcome": self.outcome, "status": self.status, "chunks_sent": self.chunks_sent,
            "violations": list(self.violations),
        }  # fmt: skip
