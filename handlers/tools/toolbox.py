"""The tools that models may use, behind the port of the router."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from rapidfuzz import process

from handlers.access import may
from handlers.tools.arguments import Arguments
from handlers.tools.tool import Registered
from routing.calls import ToolCall, ToolSpec
from routing.errors import StorageFault, ToolFailed
from routing.outcome import NO_TOOL, ToolScope, Traits
from routing.types import Person

UNKNOWN = Traits(parallel=True, changes=False)

log = logging.getLogger("handlers.tools")


class Toolbox:
    """`routing.ports.Toolbox`. What a person's role does not permit is neither offered to their model nor run for it,
    whatever the model was talked into."""

    def __init__(self, tools: Sequence[Registered]) -> None:
        self._tools = {each.tool.name: each for each in tools}
        self._arguments = Arguments()
        self.total = len(self._tools)

    async def offered(self, person: Person) -> tuple[ToolSpec, ...]:
        off = await self.off(person)
        theirs = [each for each in self._tools.values() if may(person, each.tool.role) and each.tool.name not in off]
        return tuple(each.tool.describe(each.spec) if each.tool.describe else each.spec for each in theirs)

    async def off(self, person: Person) -> Mapping[str, str]:
        """The tools of this person's role that can't be used at the moment, and why."""
        found = {}
        for name, each in self._tools.items():
            reason = await each.tool.off() if each.tool.off and may(person, each.tool.role) else None
            if reason is not None:
                found[name] = reason
        return found

    def traits(self, name: str) -> Traits:
        known = self._tools.get(name)
        return known.tool.traits if known else UNKNOWN

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        known = self._tools.get(call.name)
        if known is None or not may(scope.person, known.tool.role):
            log.info("[Tools] A call was refused: no such tool for the role %s", scope.person.role)
            raise ToolFailed(self._unknown(call.name, scope.person))
        arguments = await self._arguments.read(call, known.spec)
        log.info("[Tools] %s", call.name)
        try:
            return await known.tool.execute(scope, **arguments)
        except (ToolFailed, StorageFault) as error:
            raise ToolFailed(str(error)) from None
        except Exception as error:  # whatever a tool's author did not foresee: the turn goes on, the log has it
            log.exception("[Tools] %s failed", call.name)
            raise ToolFailed(f"{call.name} failed inside ({type(error).__name__}). Go on without it.") from None

    def _unknown(self, name: str, person: Person) -> str:
        """The same words for a tool that is not there and for one that this person may not use."""
        theirs = [each.tool.name for each in self._tools.values() if may(person, each.tool.role)]
        nearest = process.extractOne(name, theirs, score_cutoff=60)
        hint = f" Did you mean {nearest[0]}?" if nearest else ""
        return f"{NO_TOOL} {name[:60]} here.{hint} There are: {', '.join(theirs)}."
