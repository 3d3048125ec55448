"""`llmock` from PyPI: injects provider faults and reports how the client reacted.

It sees only attempts and their times. Its findings: retry_after_ignored, retried_non_retryable, retry_storm (more than
ten attempts at one call), truncated_stream_accepted (the request was not repeated); it also gives warnings. Its journal
stores each body unchanged, without headers. It checks the types of a few request fields.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from routing.types.llm import ApiType
from tests.independent.process import Program, Sent

Behaviour = dict[str, Any]
HOUR: Behaviour = {"type": "fail", "status": 429, "retry_after": 3600, "times": None}
DOWN: Behaviour = {"type": "fail", "status": 503, "retry_after": 0, "times": None}
SILENT = {"openai": 1, "anthropic": 3, "gemini": 0}
"""Number of stream events before the first text."""

_FOLDERS: dict[ApiType, str] = {"openai": "/v1", "anthropic": "/anthropic", "gemini": "/gemini/v1beta"}


def cut(kind: str, after: int, **more: Any) -> Behaviour:
    """A stream that fails after this many events."""
    return {"type": "stream_fault", "kind": kind, "after_chunks": after, **more}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's findings; `errors` fail a client, `warnings` don't."""

    calls: int
    attempts: int
    errors: tuple[str, ...]
    warnings: tuple[str, ...]


class Llmock(Program):
    """The process. It repeats the question, and calls no tool by default."""

    def __init__(self) -> None:
        options = ("--host", "127.0.0.1", "--port", "0", "--tool-mode", "off", "--response-style", "echo")
        super().__init__([sys.executable, "-m", "llmock.cli", "serve", *options])

    def base(self, kind: ApiType) -> str:
        return self.root + _FOLDERS[kind]

    async def will(self, *behaviours: Behaviour) -> None:
        """The behaviour for the next requests, in order."""
        await self.call("POST", "/_llmock/scenario", {"behaviors": behaviours}, status=201)

    async def says(self, text: str) -> None:
        """The same answer to everything."""
        await self.will({"type": "reply", "text": text, "times": None})

    async def sent(self) -> list[Sent]:
        """Every finished request since the last reset."""
        kept = (await self.call("GET", "/_llmock/requests"))["requests"]
        return [Sent(each["path"], each["status"], each["body"], {}) for each in kept]

    async def verdict(self) -> Verdict:
        """Its judgement of everything since the last reset."""
        given = await self.call("GET", "/_llmock/verdict")
        found = [(each["severity"], each["code"]) for each in given["findings"]]
        errors, warnings = (tuple(code for kind, code in found if kind == one) for one in ("error", "warning"))
        return Verdict(given["calls"], given["attempts"], errors, warnings)

    async def reset(self) -> None:
        """Forget the requests and the planned behaviours."""
        await self.call("POST", "/_llmock/reset")
