"""Decides which tool calls need a confirmation and stores those calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from handlers.tools.authoring.tool import Preview
from handlers.tools.tool_source import KnownTool
from routing.ports import ActionStore, AllowanceStore, Clock
from routing.types.tools import Allowance, NeedsConfirmation, PendingAction, ToolScope

VALID_SECONDS = 24 * 3600.0
"""How long a pending confirmation is valid."""
Rule = Literal["asks", "sometimes", "conversation", "always", "everyone", "runtime-config.json", "mcp.json"]
"""Why a tool runs without a confirmation, or `asks` if it needs one. `sometimes`: only some calls need one."""


class Approval:
    """Stores a call that needs a confirmation instead of running it. `allowed` names the tools and toolkits that the
    owner's configuration allows for everyone."""

    def __init__(
        self,
        actions: ActionStore,
        allowances: AllowanceStore,
        allowed: Callable[[], frozenset[str]],
        clock: Clock,
    ) -> None:
        self.actions = actions
        self.allowances = allowances
        self._allowed = allowed
        self._clock = clock

    async def check(self, known: KnownTool, arguments: Mapping[str, Any], scope: ToolScope) -> None:
        """Returns if the call may run now. Otherwise stores the action and raises NeedsConfirmation."""
        tool = known.tool
        note = "" if tool.traits.confirm else await tool.asks(scope, **arguments) if tool.asks else None
        if note is None:
            return
        stored = await self.allowances.of(scope.person.id)
        if self._rule(known, scope.conversation_id, stored) != "asks":
            return
        written = canonical(arguments)
        action = PendingAction(
            person_id=scope.person.id,
            conversation_id=scope.conversation_id,
            tool=tool.name,
            toolkit=known.toolkit.name,
            arguments=written,
            digest=digest(known.version, written),
            expires_at=self._clock() + VALID_SECONDS,
            note=str(note),
            previewed=_previewed(note, arguments),
            tier=scope.decision.tier if scope.decision.source in ("prefix", "auto") else None,
        )
        raise NeedsConfirmation(await self.actions.add(action))

    async def rules(self, person_id: int, conversation_id: int, tools: Iterable[KnownTool]) -> dict[str, Rule]:
        """The rule of each tool that may need a confirmation, by tool name."""
        asking = [each for each in tools if each.tool.traits.confirm or each.tool.asks is not None]
        stored = await self.allowances.of(person_id) if asking else ()
        found: dict[str, Rule] = {}
        for each in asking:
            rule = self._rule(each, conversation_id, stored)
            found[each.tool.name] = "sometimes" if rule == "asks" and not each.tool.traits.confirm else rule
        return found

    def _rule(self, known: KnownTool, conversation_id: int, stored: Iterable[Allowance]) -> Rule:
        tool = known.tool
        if tool.traits.allowed_in == "mcp.json":
            return "mcp.json"
        if not self._allowed().isdisjoint((tool.name, known.toolkit.name)):
            return "runtime-config.json"
        mine = [each for each in stored if each.tool == tool.name and each.version == known.version]
        if any(each.everybody for each in mine):
            return "everyone"
        if any(each.conversation_id is None for each in mine):
            return "always"
        return "conversation" if any(each.conversation_id == conversation_id for each in mine) else "asks"


def _previewed(note: str, arguments: Mapping[str, Any]) -> frozenset[str]:
    """The arguments that need not be listed: the note shows them, and they have no invisible characters."""
    shows = note.shows if isinstance(note, Preview) else frozenset()
    return frozenset(name for name in shows & arguments.keys() if _written(arguments[name]).isprintable())


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def digest(made: str, arguments: str) -> str:
    """A hash of what a button confirms: the tool's `version` and the canonical arguments."""
    return hashlib.sha256(json.dumps([made, arguments]).encode()).hexdigest()


def canonical(arguments: Mapping[str, Any]) -> str:
    """Arguments as canonical JSON: equal arguments give equal text."""
    return json.dumps(dict(arguments), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
