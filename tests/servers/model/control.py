"""The server's controls for another process: JSON under `/control/`.

POST script   {"kind": "reply", "text": "…", …} with the keywords of that scripting method; `when` is
              {"model": …, "user_contains": …, "vendor": …}. Answers {"script": number}.
POST open     {"script": number}: opens that script's gate.
POST default  {"text": …, "chunks": …, "delay": …, "first_delay": …}: the answer when no script is left.
POST keys     {"bad": […], "missing_models": […]}
POST outage   {"seconds": …}: unreachable for this long, after the answer.
POST reset    forgets scripts, journal, keys.
GET  state    counts by outcome, scripts left.   GET journal?since=N  the entries with a number above N.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Gate, When

if TYPE_CHECKING:
    from tests.servers.model.server import ModelServer

KINDS = (
    "reply", "call_tools", "reasoning", "empty", "length_cut", "fail", "break_stream",
    "truncate", "garbage", "hang", "reset", "gate",
)  # fmt: skip


class Refused(Exception):
    """The control request is invalid; the text says why."""


class Control:
    """Carries out control requests on one server."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._gates: list[Gate] = []
        self._outage: asyncio.Task[None] | None = None
        self._actions: dict[tuple[str, str], Callable[[dict[str, Any]], dict[str, Any]]] = {
            ("POST", "script"): self._script,
            ("POST", "open"): self._open,
            ("POST", "default"): self._default,
            ("POST", "keys"): self._keys,
            ("POST", "outage"): self._start_outage,
            ("POST", "reset"): self._reset,
            ("GET", "state"): self._state,
            ("GET", "journal"): self._journal,
        }

    def act(self, method: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer as JSON. Raises Refused for an unknown action or a wrong keyword."""
        action = self._actions.get((method, name))
        if action is None:
            known = ", ".join(f"{verb} {path}" for verb, path in self._actions)
            raise Refused(f"unknown control {method} {name}; known: {known}")
        try:
            return action(given)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Refused(f"{name}: {type(error).__name__}: {error}") from error

    def _script(self, given: dict[str, Any]) -> dict[str, Any]:
        terms = dict(given)
        kind = terms.pop("kind", "reply")
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r} is not one of {', '.join(KINDS)}")
        if "when" in terms:
            terms["when"] = condition(terms["when"])
        if isinstance(terms.get("usage"), list):
            terms["usage"] = tuple(terms["usage"])
        self._gates.append(getattr(self._server, kind)(**terms))
        return {"script": len(self._gates) - 1}

    def _open(self, given: dict[str, Any]) -> dict[str, Any]:
        self._gates[given["script"]].open()
        return {}

    def _default(self, given: dict[str, Any]) -> dict[str, Any]:
        terms = dict(given)
        if "text" in terms:
            text = str(terms.pop("text"))
            self._server.default = lambda _: text
        self._server.pace = replace(self._server.pace, **terms)
        return {}

    def _keys(self, given: dict[str, Any]) -> dict[str, Any]:
        self._server.bad_keys = set(given.get("bad", self._server.bad_keys))
        self._server.missing_models = set(given.get("missing_models", self._server.missing_models))
        return {}

    def _start_outage(self, given: dict[str, Any]) -> dict[str, Any]:
        seconds = float(given["seconds"])

        async def dead() -> None:
            await asyncio.sleep(0.05)
            async with self._server.outage():
                await asyncio.sleep(seconds)

        self._outage = asyncio.create_task(dead())
        return {}

    def _reset(self, given: dict[str, Any]) -> dict[str, Any]:
        self._server.clear()
        self._server.journal.clear()
        self._server.bad_keys, self._server.missing_models = set(), set()
        self._gates.clear()
        return {}

    def _state(self, given: dict[str, Any]) -> dict[str, Any]:
        outcomes = Counter(request.outcome for request in self._server.journal)
        pending = len(self._server.pending)
        return {"seen": self._server.journal.seen, "outcomes": dict(outcomes), "scripts": pending}

    def _journal(self, given: dict[str, Any]) -> dict[str, Any]:
        since = int(given.get("since", 0))
        return {"journal": [each.row() for each in self._server.journal if each.number > since]}


def condition(given: dict[str, str]) -> When:
    """A predicate from its JSON form; every field given must match."""
    unknown = set(given) - {"model", "user_contains", "vendor"}
    if unknown:
        raise ValueError(f"unknown condition {', '.join(sorted(unknown))}")

    def fits(request: ModelRequest) -> bool:
        return (
            given.get("model", request.model) == request.model
            and given.get("vendor", request.vendor) == request.vendor
            and given.get("user_contains", "") in request.last_user_text
        )

    return fits
