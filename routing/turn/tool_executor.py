"""Runs the tool calls of one turn: side by side where the tools allow it, each different call once."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence

from routing.errors import BadArguments, ToolFailed, UnknownTool
from routing.ports import Tools
from routing.text import storable
from routing.turn.truncation import limit_result
from routing.types.llm import ToolCall
from routing.types.tools import NeedsConfirmation, PendingAction, ToolResult, ToolScope

NOT_RUN = "Error: not run, the turn was stopped."
STOPPED = "Error: stopped by the user while it ran; what it had done by then stays done."
ONE_WAITS = "Error: not run. Another action waits for the user's confirmation first; call this one again after it."
AGAIN = "\n\n[The same call was already made in this turn; this is its result.]"

log = logging.getLogger("routing")


class ToolExecutor:
    """`left` is the number of calls still allowed; `refused` is set if the model asked for more. `waiting` is the call
    that the person has to confirm; `own_seconds` is the time of the last run that doesn't count towards the turn."""

    def __init__(self, tools: Tools, most_calls: int, most_chars: int) -> None:
        """Results longer than `most_chars` characters are cut."""
        self._tools = tools
        self._most_calls = most_calls
        self._most_chars = most_chars
        self._known: dict[str, str] = {}
        self._corrected: set[str] = set()
        self.left = most_calls
        self.refused = False
        self.waiting: PendingAction | None = None
        self.own_seconds = 0.0

    @staticmethod
    def not_run(calls: Sequence[ToolCall]) -> list[ToolResult]:
        """One failed result per call, before anything runs."""
        return [ToolResult(call.id, call.name, NOT_RUN, failed=True) for call in calls]

    async def run(self, calls: Sequence[ToolCall], scope: ToolScope, seconds: float, results: list[ToolResult]) -> None:
        """Store each call's result at its index in `results`. A cancelled run keeps the results it has."""
        allowed = calls[: self.left]
        self.left -= len(allowed)
        self.refused = len(calls) > len(allowed)
        for index in range(len(allowed), len(calls)):
            most = f"Error: not run, a turn may make at most {self._most_calls} tool calls."
            results[index] = _failed(calls[index], most)
        self.own_seconds, loop = 0.0, asyncio.get_running_loop()
        ends = loop.time() + seconds
        for group in self._groups(allowed):
            began = loop.time()
            left = ends + self.own_seconds - began
            await asyncio.gather(*(self._put(index, allowed[index], scope, left, results) for index in group))
            if self._tools.traits(allowed[group[0]].name).own_time:
                self.own_seconds += loop.time() - began

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[int]]:
        """Group consecutive calls that may run at the same time; a repeated call waits for the first one."""
        group: list[int] = []
        keys: set[str] = set()
        for index, call in enumerate(calls):
            traits = self._tools.traits(call.name)
            beside = traits.parallel and not traits.changes and not traits.own_time
            if group and (not beside or _key(call) in keys):
                yield group
                group, keys = [], set()
            group.append(index)
            keys.add(_key(call))
            if not beside:
                yield group
                group, keys = [], set()
        if group:
            yield group

    async def _put(
        self, index: int, call: ToolCall, scope: ToolScope, seconds: float, results: list[ToolResult]
    ) -> None:
        key = _key(call)
        if key in self._known:
            again = limit_result(self._known[key], self._most_chars - len(AGAIN)) + AGAIN
            results[index] = ToolResult(call.id, call.name, again)
            return
        results[index] = _failed(call, STOPPED)
        result = await self._result(call, scope, seconds)
        if self._tools.traits(call.name).changes:  # earlier results may be stale
            self._known.clear()
        results[index] = result
        if not result.failed:  # a failed call may be repeated
            self._known[key] = result.content

    async def _result(self, call: ToolCall, scope: ToolScope, seconds: float) -> ToolResult:
        traits = self._tools.traits(call.name)
        longest = traits.seconds if traits.own_time else max(0.0, min(traits.seconds, seconds))
        try:
            async with asyncio.timeout(longest):
                content = await self._tools.run(call, scope)
        except NeedsConfirmation as asked:
            if self.waiting is not None:
                return _failed(call, ONE_WAITS)
            self.waiting = asked.action
            return ToolResult(call.id, call.name, self._limited(str(asked)))
        except TimeoutError:
            log.warning("[Tools] %s took more than %.0f s", call.name, longest)
            return _failed(
                call, f"Error: {call.name} timed out after {longest:.0f} s. Ask for less, or go on without it."
            )
        except BadArguments as error:
            text = f"Error: {error}"
            if call.name in self._corrected:
                text += f" It was wrong for the second time: go on without {call.name}."
            self._corrected.add(call.name)
            return _failed(call, self._limited(text))
        except ToolFailed as error:
            return ToolResult(
                call.id, call.name, self._limited(f"Error: {error}"), True, isinstance(error, UnknownTool)
            )
        return ToolResult(call.id, call.name, self._limited(content))

    def _limited(self, text: str) -> str:
        return limit_result(storable(text), self._most_chars)


def _failed(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call.id, call.name, text, failed=True)


def _key(call: ToolCall) -> str:
    """Identifies a call by its tool and parsed arguments."""
    try:
        return f"{call.name} {json.dumps(json.loads(call.arguments), sort_keys=True)}"
    except (ValueError, RecursionError):
        return f"{call.name} {call.arguments}"
