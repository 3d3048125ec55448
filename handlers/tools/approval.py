"""Decides which tool calls need a confirmation and stores those calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from handlers.languages import Say
from handlers.tools.authoring.tool import Preview, Tool
from handlers.tools.tool_source import KnownTool
from routing.errors import ToolFailed
from routing.ports import ActionStore, AllowanceStore, Clock
from routing.types.tools import Allowance, NeedsConfirmation, PendingAction, ToolScope

VALID_SECONDS = 24 * 3600.0
"""How long a pending confirmation is valid."""
Rule = Literal["asks", "sometimes", "private", "conversation", "always", "everyone", "runtime-config.json", "mcp.json"]
"""Why a tool runs without a confirmation, or `asks` if it needs one. `sometimes`: only some calls need one. `private`:
it runs only where nobody else reads along."""


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
        tool, shared = known.tool, shows_others(known.tool, scope.private)
        if shared and tool.asks is not None:  # its question would show the data already
            raise ToolFailed(
                f"{tool.name} works only in a private chat, because others read this one. It did not run. Tell the "
                "user so; they can ask for it there."
            )
        note = await _question(tool, arguments, scope)
        if note is None:
            return
        stored = await self.allowances.of(scope.person.id)
        if self._rule(known, scope.conversation_id, stored, shared) != "asks":
            return
        arguments = {**arguments, **note.fixed} if isinstance(note, Preview) else arguments
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
            here_only=shared,
            tier=scope.decision.tier if scope.decision.source in ("prefix", "auto") else None,
        )
        raise NeedsConfirmation(await self.actions.add(action))

    async def rules(
        self, person_id: int, conversation_id: int, tools: Iterable[KnownTool], private: bool
    ) -> dict[str, Rule]:
        """The rule of each tool that may need a confirmation, by tool name. `private`: nobody else reads the
        conversation."""
        asking = [each for each in tools if _may_ask(each.tool, private)]
        stored = await self.allowances.of(person_id) if asking else ()
        found: dict[str, Rule] = {}
        for each in asking:
            tool, shared = each.tool, shows_others(each.tool, private)
            rule = self._rule(each, conversation_id, stored, shared)
            always_asks = tool.traits.confirm or shared
            found[tool.name] = "sometimes" if rule == "asks" and not always_asks else rule
            if shared and tool.asks is not None:
                found[tool.name] = "private"
        return found

    def _rule(self, known: KnownTool, conversation_id: int, stored: Iterable[Allowance], shared: bool) -> Rule:
        """`shared`: others see what the tool shows, so only an allowance for this conversation counts."""
        tool = known.tool
        mine = [each for each in stored if each.tool == tool.name and each.version == known.version]
        here: Rule = "conversation" if any(each.conversation_id == conversation_id for each in mine) else "asks"
        if shared:
            return here
        if tool.traits.allowed_in == "mcp.json":
            return "mcp.json"
        if not self._allowed().isdisjoint((tool.name, known.toolkit.name)):
            return "runtime-config.json"
        if any(each.everybody for each in mine):
            return "everyone"
        return "always" if any(each.conversation_id is None for each in mine) else here


def shows_others(tool: Tool, private: bool) -> bool:
    """Whether others see this person's data. `private`: nobody else reads the conversation."""
    return tool.traits.private and not private


def _may_ask(tool: Tool, private: bool) -> bool:
    return tool.traits.confirm or tool.asks is not None or shows_others(tool, private)


async def _question(tool: Tool, arguments: Mapping[str, Any], scope: ToolScope) -> str | None:
    """What the person is told before this call; None if it may run at once."""
    if shows_others(tool, scope.private):
        return Say(scope.language)("👥 This shows your own data to everyone here.")
    if tool.traits.confirm:
        return ""
    return await tool.asks(scope, **arguments) if tool.asks else None


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
