"""Implements the router's toolbox port: offers and runs tools."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rapidfuzz import process

from handlers.access.roles import may
from handlers.accounts.accounts import Accounts
from handlers.metrics import Metrics
from handlers.tools.approval import Approval, Rule, digest, shows_others
from handlers.tools.authoring.arguments import Arguments
from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, KnownTool, Source
from routing.errors import BadArguments, Reason, StorageFault, ToolFailed, UnknownTool
from routing.types.llm import ToolCall
from routing.types.people import Person, Role
from routing.types.toolkits import Toolkit
from routing.types.tools import NeedsConfirmation, PendingAction, ToolScope, Traits

UNKNOWN = Traits(parallel=True, changes=False)
MAX_NAMED = 40
"""Maximum number of tools listed in the reply to an unknown tool name."""

log = logging.getLogger("handlers.tools")


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A snapshot of all sources."""

    sources: tuple[tuple[BoundToolkit, ...], ...]
    toolkits: tuple[Toolkit, ...]
    tools: Mapping[str, KnownTool]
    left_out: tuple[Reason, ...]
    offered: dict[tuple[Role, frozenset[str]], tuple[Toolkit, ...]]


class Toolbox:
    """Implements `routing.ports.Toolbox`. Tools that a person's role does not permit are neither offered nor run,
    even if the model asks for more. For duplicate names, the first in the order of `sources` wins. Without `approval`,
    tools that need a confirmation don't run; without `accounts`, nobody has an account."""

    def __init__(
        self,
        *sources: Source,
        approval: Approval | None = None,
        accounts: Accounts | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._sources = sources
        self._metrics = metrics or Metrics()
        self._approval = approval
        self._accounts = accounts
        self._arguments = Arguments()
        self._snapshot = _snapshot(tuple(source.bound_toolkits() for source in sources))

    def toolkits(self) -> tuple[Toolkit, ...]:
        return self._now().toolkits

    def left_out(self) -> tuple[Reason, ...]:
        """Tools that can't be offered because of a duplicate name or a missing manifest entry, one sentence each."""
        return self._now().left_out

    async def offered(self, person: Person) -> tuple[Toolkit, ...]:
        off = frozenset(await self.off(person))
        snapshot = self._now()
        if (person.role, off) not in snapshot.offered:
            snapshot.offered[person.role, off] = tuple(
                replace(toolkit, tools=left)
                for toolkit in snapshot.toolkits
                if (
                    left := tuple(
                        card
                        for card in toolkit.tools
                        if card.name not in off and may(person, snapshot.tools[card.name].tool.role)
                    )
                )
            )
        return snapshot.offered[person.role, off]

    async def off(self, person: Person) -> Mapping[str, str]:
        """The permitted tools that can't be used at the moment, and the reasons."""
        found = {}
        for name, known in self._now().tools.items():
            tool = known.tool
            if not may(person, tool.role):
                continue
            reason = await tool.off() if tool.off else None
            if reason is None and tool.accounts and not await self._has_account(person, tool.accounts):
                reason = Reason("not connected; /connect {kind} does that", kind=tool.accounts[0])
            if reason is not None:
                found[name] = reason
        return found

    async def missing(self, person: Person) -> Mapping[str, str]:
        found = {}
        for known in self._now().tools.values():
            tool = known.tool
            if tool.accounts and may(person, tool.role) and not await self._has_account(person, tool.accounts):
                found[known.toolkit.name] = tool.accounts[0]
        return found

    async def _has_account(self, person: Person, kinds: tuple[str, ...]) -> bool:
        return self._accounts is not None and await self._accounts.has(person, kinds)

    def traits(self, name: str) -> Traits:
        known = self._now().tools.get(name)
        return known.tool.traits if known else UNKNOWN

    async def run(self, call: ToolCall, scope: ToolScope) -> str:
        known = self._known(call.name, scope.person)
        with self._metrics.tool(call.name):
            arguments = await self._read(call, known, scope)
            if self._approval is not None:
                with _guarded(call.name):
                    await self._approval.check(known, arguments, scope)
            elif _asks(known.tool, scope):
                raise ToolFailed(
                    f"{call.name} needs a confirmation by a person, which is not possible here. Go on without it."
                )
            return await _executed(known.tool, arguments, scope)

    async def run_confirmed(self, action: PendingAction, scope: ToolScope) -> str:
        """Runs a confirmed action. Raises ToolFailed, also if the tool or the arguments differ from what the person
        confirmed."""
        known = self._known(action.tool, scope.person)
        if digest(known.version, action.arguments) != action.digest:
            raise ToolFailed(f"{action.tool} has changed since it was confirmed. It did not run.")
        with self._metrics.tool(action.tool):
            return await _executed(known.tool, json.loads(action.arguments), replace(scope, confirmed=action.note))

    async def rules(self, person: Person, conversation_id: int, private: bool = True) -> Mapping[str, Rule]:
        """The confirmation rule of each permitted tool, by name. `private`: nobody else reads the conversation."""
        if self._approval is None:
            return {}
        theirs = [each for each in self._now().tools.values() if may(person, each.tool.role)]
        return await self._approval.rules(person.id, conversation_id, theirs, private)

    def version(self, name: str) -> str | None:
        """The version to which an allowance of this tool applies; None if the tool does not exist."""
        known = self._now().tools.get(name)
        return known.version if known else None

    def _known(self, name: str, person: Person) -> KnownTool:
        """Raises UnknownTool if the tool does not exist or is not permitted."""
        known = self._now().tools.get(name)
        if known is None or not may(person, known.tool.role):
            log.info("[Tools] Refused a call: no such tool for the role %s", person.role)
            raise UnknownTool(self._unknown(name, person))
        return known

    async def _read(self, call: ToolCall, known: KnownTool, scope: ToolScope) -> Mapping[str, Any]:
        """Checks the arguments against the schema for the model's size, then against the full schema."""
        card, spec = known.card, known.card.spec(scope.size)
        try:
            return await self._arguments.read(call, spec, known.foreign)
        except BadArguments:
            if card.texts["XL"].parameters == spec.parameters:
                raise
            try:
                return await self._arguments.read(call, card.spec("XL"), known.foreign)
            except BadArguments:
                pass
            raise

    def _now(self) -> _Snapshot:
        sources = tuple(source.bound_toolkits() for source in self._sources)
        if any(new is not old for new, old in zip(sources, self._snapshot.sources, strict=True)):
            self._snapshot = _snapshot(sources)
        return self._snapshot

    def _unknown(self, name: str, person: Person) -> str:
        """The same message for a missing tool and for one that is not permitted."""
        theirs = [name for name, known in self._now().tools.items() if may(person, known.tool.role)]
        nearest = process.extractOne(name, theirs, score_cutoff=60)
        hint = f" Did you mean {nearest[0]}?" if nearest else ""
        more = ", …" if len(theirs) > MAX_NAMED else ""
        return f"There is no tool {name[:60]} here.{hint} There are: {', '.join(theirs[:MAX_NAMED])}{more}."


def _asks(tool: Tool, scope: ToolScope) -> bool:
    confirmed = tool.traits.confirm and not tool.traits.allowed_in
    return confirmed or tool.asks is not None or shows_others(tool, scope.private)


async def _executed(tool: Tool, arguments: Mapping[str, Any], scope: ToolScope) -> str:
    log.info("[Tools] %s", tool.name)
    with _guarded(tool.name):
        return await tool.execute(scope, **arguments)


@contextmanager
def _guarded(name: str) -> Iterator[None]:
    """Turns every error of a tool, or of the question that it asks first, into a ToolFailed for the model."""
    try:
        yield
    except NeedsConfirmation:
        raise
    except (ToolFailed, StorageFault) as error:
        raise ToolFailed(str(error)) from None
    except Exception as error:  # tool execution: the log has the bug, and the turn continues
        log.exception("[Tools] %s failed", name)
        raise ToolFailed(f"{name} failed internally ({type(error).__name__}). Go on without it.") from None


def without_duplicates(toolkits: Iterable[Toolkit]) -> tuple[tuple[Toolkit, ...], tuple[Reason, ...]]:
    """The toolkits without duplicate names, and one sentence per dropped name."""
    owners: dict[str, str] = {}
    seen: set[str] = set()
    kept: list[Toolkit] = []
    left_out: list[Reason] = []
    for toolkit in toolkits:
        name = toolkit.name
        if name in seen:
            left_out.append(Reason("The toolkit {toolkit} is left out: there is another of this name.", toolkit=name))
            continue
        seen.add(name)
        for card in (card for card in toolkit.tools if card.name in owners):
            words = "The tool {tool} of {toolkit} is left out: {owner} has one of this name."
            left_out.append(Reason(words, tool=card.name, toolkit=name, owner=owners[card.name]))
        if cards := tuple(card for card in toolkit.tools if card.name not in owners):
            kept.append(replace(toolkit, tools=cards))
            owners |= dict.fromkeys((card.name for card in cards), name)
    return tuple(kept), tuple(left_out)


def _snapshot(sources: tuple[tuple[BoundToolkit, ...], ...]) -> _Snapshot:
    kits = [kit for each in sources for kit in each]
    toolkits, duplicates = without_duplicates(kit.toolkit for kit in kits)
    left_out = (*(reason for kit in kits for reason in kit.left_out), *duplicates)
    functions = {kit.toolkit.name: kit.tools for kit in reversed(kits)}  # the first of equal names wins
    for sentence in left_out:
        log.warning("[Tools] %s", sentence)
    tools = {
        card.name: KnownTool(functions[toolkit.name][card.name], card, toolkit)
        for toolkit in toolkits
        for card in toolkit.tools
    }
    return _Snapshot(sources, toolkits, tools, left_out, {})
