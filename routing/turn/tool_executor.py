"""The tool calls of one turn: side by side where the tools allow it, answered in order, each different call once."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence

from routing.errors import BadArguments, ToolFailed
from routing.ports import Tools
from routing.text import storable
from routing.turn.truncation import limit_result
from routing.types.confirmation import NeedsConfirmation, PendingAction
from routing.types.llm import ChatMessage, ToolCall
from routing.types.tools import ToolScope

ERROR = "Error: "
NOT_RUN = "Error: not run, the turn was stopped."
STOPPED = "Error: stopped by the user while it ran; what it had done by then stays done."
ONE_WAITS = "Error: not run. Another action waits for the user's confirmation first; call this one again after it."
AGAIN = "\n\n[The same call was already made in this turn; this is its result.]"

log = logging.getLogger("routing")


class ToolRounds:
    """`left` counts the calls that may still be made, `refused` says that there were more; results above `most_chars`
    characters are cut. `waiting` is the call that its person has to confirm. `own_seconds` is how long the tools of the
    last run took that have time of their own."""

    def __init__(self, tools: Tools, most_calls: int, most_chars: int) -> None:
        self._tools = tools
        self._most_calls = most_calls
        self._most_chars = most_chars
        self._known: dict[str, str] = {}
        self._corrected: set[str] = set()
        self.left = most_calls
        self.refused = False
        self.waiting: PendingAction | None = None
        self.own_seconds = 0.0

    async def run(self, calls: Sequence[ToolCall], scope: ToolScope, seconds: float, results: dict[int, str]) -> None:
        """Fill `results` by the position of the call; a cancelled run leaves those that are there."""
        allowed = calls[: self.left]
        self.left -= len(allowed)
        self.refused = len(calls) > len(allowed)
        for index in range(len(allowed), len(calls)):
            results[index] = f"Error: not run, a turn may make at most {self._most_calls} tool calls."
        self.own_seconds, loop = 0.0, asyncio.get_running_loop()
        ends = loop.time() + seconds
        for group in self._groups(allowed):
            began = loop.time()
            left = ends + self.own_seconds - began
            await asyncio.gather(*(self._note(index, allowed[index], scope, left, results) for index in group))
            if self._tools.traits(allowed[group[0]].name).own_time:
                self.own_seconds += loop.time() - began

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[int]]:
        """Neighbours that may run at the same time; the second of two equal calls waits for the first."""
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

    async def _note(
        self, index: int, call: ToolCall, scope: ToolScope, seconds: float, results: dict[int, str]
    ) -> None:
        key = _key(call)
        if key in self._known:
            results[index] = limit_result(self._known[key], self._most_chars - len(AGAIN)) + AGAIN
            return
        results[index] = STOPPED
        answer = limit_result(storable(await self._answer(call, scope, seconds)), self._most_chars)
        if self._tools.traits(call.name).changes:  # what was read before may be different now
            self._known.clear()
        results[index] = answer
        if not answer.startswith(ERROR):  # what failed may work the next time
            self._known[key] = answer

    async def _answer(self, call: ToolCall, scope: ToolScope, seconds: float) -> str:
        traits = self._tools.traits(call.name)
        longest = traits.seconds if traits.own_time else max(0.0, min(traits.seconds, seconds))
        try:
            async with asyncio.timeout(longest):
                return await self._tools.run(call, scope)
        except NeedsConfirmation as asked:
            if self.waiting is not None:
                return ONE_WAITS
            self.waiting = asked.action
            return str(asked)
        except TimeoutError:
            log.warning("[Tools] %s took more than %.0f s", call.name, longest)
            return f"Error: {call.name} timed out after {longest:.0f} s. Ask for less, or go on without it."
        except BadArguments as error:
            if call.name in self._corrected:
                return f"Error: {error} It was wrong for the second time: go on without {call.name}."
            self._corrected.add(call.name)
            return f"Error: {error}"
        except ToolFailed as error:
            return f"Error: {error}"


def messages(calls: Sequence[ToolCall], results: dict[int, str]) -> list[ChatMessage]:
    """The results in the order of their calls; a call that was not run says so."""
    return [
        ChatMessage("tool", results.get(index, NOT_RUN), call_id=call.id, tool=call.name)
        for index, call in enumerate(calls)
    ]


def _key(call: ToolCall) -> str:
    """Equal for the same tool with the same arguments, however they are written."""
    try:
        return f"{call.name} {json.dumps(json.loads(call.arguments), sort_keys=True)}"
    except (ValueError, RecursionError):
        return f"{call.name} {call.arguments}"
