"""Renders a person's toolkits and the state of the tool sources."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from handlers.access.roles import may
from handlers.context import CommandContext
from handlers.replies.duration import format_duration
from handlers.tools.approval import Rule
from handlers.tools.dependencies import ToolServices
from handlers.tools.mcp.connection import ServerState, Status
from routing.ports import Clock
from routing.tools.presentation import DISCOVERY
from routing.types.people import Person
from routing.types.toolkits import Toolkit, ToolkitSource

SOURCES: Mapping[ToolkitSource, str] = {"ours": "ours", "workspace": "workspace", "mcp": "MCP server"}
SERVER_STATES: Mapping[Status, str] = {
    "connected": "connected for {span}, {n} tools",
    "connecting": "connecting for {span}",
    "failed": "not connected for {span}",
    "disabled": "disabled in mcp.json",
}
LIST_CHARACTERS, NAMED_CHARACTERS, DESCRIBED = 2800, 60, (20, 120)
"""Character budgets, so that the list fits one message: the whole list; a toolkit without its description; the shortest
and longest description."""
MAX_NAMED = 10
MAX_DETAIL = 300
ASKING: Mapping[Rule, str] = {
    "asks": "asks before each run",
    "sometimes": "asks before some runs",
    "private": "only in private chats",
}
MAX_WARNINGS = 5
_FORMATTING = str.maketrans("", "", "*`[]<>~|\\")


@dataclass(frozen=True, slots=True)
class ListedToolkit:
    """A toolkit as one person sees it. `usable` of its `tools` can be called now."""

    toolkit: Toolkit
    tools: tuple[str, ...]
    usable: int

    @property
    def kept(self) -> bool:
        """Whether it can't be switched off, because small models discover all other tools through it."""
        return DISCOVERY in self.tools


class ToolList:
    """Lists the tools that a person's role permits. Only admins see faults."""

    def __init__(self, tooling: ToolServices, clock: Clock) -> None:
        self._toolbox = tooling.toolbox
        self._toolkits = tooling.toolkits
        self._mcp = tooling.mcp
        self._clock = clock

    async def held(self, person: Person) -> tuple[ListedToolkit, ...]:
        """The toolkits that this person may use, including those they switched off."""
        usable = {card.name for toolkit in await self._toolbox.offered(person) for card in toolkit.tools}
        known = usable | set(await self._toolbox.off(person))
        found = []
        for toolkit in self._toolbox.toolkits():
            names = tuple(card.name for card in toolkit.tools if card.name in known)
            if names:
                found.append(ListedToolkit(toolkit, names, len(usable.intersection(names))))
        return tuple(found)

    async def shown(self, ask: CommandContext, off: Collection[str]) -> str:
        """The rendered list. `off` names the toolkits that this person switched off."""
        held = await self.held(ask.person)
        room = LIST_CHARACTERS // max(1, len(held)) - NAMED_CHARACTERS
        parts = ["\n".join(_line(ask, each, each.toolkit.name in off, room) for each in held)]
        if reasons := _by_reason(held, await self._toolbox.off(ask.person)):
            lines = (
                f"- {listed(ask, names, MAX_NAMED)}: {plain(ask.say(reason))}" for reason, names in reasons.items()
            )
            parts.append("\n".join([ask.say("Tools that can't be used right now:"), "", *lines]))
        return "\n\n".join(parts)

    async def detail(self, ask: CommandContext, held: ListedToolkit, off: bool, rules: Mapping[str, Rule]) -> str:
        """One toolkit with each of its tools: what it does, whether it asks, and why it can't be used."""
        missing = await self._toolbox.off(ask.person)
        lines = [_line(ask, held, off, MAX_DETAIL, MAX_DETAIL).removeprefix("- "), ""]
        for card in held.toolkit.tools:
            if card.name in held.tools:
                about = card.texts["S"].description
                about = ask.say(card.texts["S"].description) if held.toolkit.source == "ours" else plain(about)
                asks = f" ({ask.say(ASKING[rules[card.name]])})" if rules.get(card.name) in ASKING else ""
                lines.append(f"- `{card.name}`: {about}{asks}")
                if reason := missing.get(card.name):
                    lines.append(f"  ⚠️ {plain(ask.say(reason))}")
        return "\n".join(lines)

    def faults(self, ask: CommandContext) -> str:
        """Broken files, omitted tools and server states. Empty for non-admins and in groups."""
        if not may(ask.person, "admin") or not ask.message.private:
            return ""
        files = list(self._files(ask))
        servers = [line for state in self._mcp.states() for line in self._server(ask, state)]
        parts = (
            (ask.say("Files with errors:"), files),
            (ask.say("Tools left out:"), list(self._left_out(ask))),
            (ask.say("MCP servers:"), servers),
        )
        return "\n\n".join("\n".join([head, "", *lines]) for head, lines in parts if lines)

    def counted(self, ask: CommandContext) -> list[str]:
        """One line per kind of fault. Empty for non-admins."""
        if not may(ask.person, "admin"):
            return []
        broken = len(self._toolkits.broken)
        left_out = len(self._toolbox.left_out())
        missing = [plain(state.name) for state in self._mcp.states() if state.status == "failed"]
        lines = []
        if broken:
            lines.append(ask.say("⚠️ Broken toolkit files: {n}; /tools says why.", n=broken))
        if left_out:
            lines.append(ask.say("⚠️ Tools left out: {n}; /tools says why.", n=left_out))
        if missing or self._mcp.problems():
            names = ", ".join(missing[:MAX_WARNINGS]) or "mcp.json"
            lines.append(ask.say("⚠️ MCP servers with errors: {names}; /tools says why.", names=names))
        return lines

    def _files(self, ask: CommandContext) -> Iterator[str]:
        found = self._toolkits.found
        for file, reason in found.broken.items():
            words = ask.say("The last valid version is in use.") if file in found.manifests else ""
            yield f"- ⚠️ {plain(ask.say(reason))} {words}".rstrip()
        for manifest in found.manifests.values():
            yield from (f"- ⚠️ {plain(ask.say(warning))}" for warning in manifest.warnings[:MAX_WARNINGS])
        yield from (f"- ⚠️ {plain(ask.say(problem))}" for problem in self._mcp.problems())

    def _left_out(self, ask: CommandContext) -> Iterator[str]:
        reasons = self._toolbox.left_out()
        yield from (f"- ⚠️ {plain(ask.say(each))}" for each in reasons[:MAX_WARNINGS])
        if len(reasons) > MAX_WARNINGS:
            yield f"- {ask.say('and {n} more', n=len(reasons) - MAX_WARNINGS)}"

    def _server(self, ask: CommandContext, state: ServerState) -> Iterator[str]:
        since = format_duration(self._clock() - state.since)
        words = ask.say(SERVER_STATES[state.status], span=since, n=state.tools)
        mark = "⚠️ " if state.status == "failed" else ""
        reason = f": {plain(ask.say(state.reason))}" if state.reason else ""
        yield f"- {mark}**{plain(state.name)}**: {words}{reason}"
        yield from (f"- ⚠️ {plain(ask.say(warning))}" for warning in state.warnings[:MAX_WARNINGS])


def plain(text: str, most: int = 400) -> str:
    """Like `one_line`, but safe outside backticks, where `__main__` would become bold."""
    return one_line(text, most).replace("__", r"\_\_")


def one_line(text: str, most: int = 400) -> str:
    """Puts outside text on one line, shortens it, and removes formatting characters."""
    words = " ".join(text.translate(_FORMATTING).split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def listed(ask: CommandContext, entries: Sequence[str], most: int) -> str:
    """The first `most` entries and the number of the others."""
    more = [ask.say("and {n} more", n=len(entries) - most)] if len(entries) > most else []
    return ", ".join((*entries[:most], *more))


def _by_reason(held: Sequence[ListedToolkit], missing: Mapping[str, str]) -> Mapping[str, list[str]]:
    """What can't be used, by the reason: toolkits with several tools, none of which can be used, and single tools."""
    reasons: dict[str, list[str]] = {}
    for each in held:
        off = {name: missing[name] for name in each.tools if name in missing}
        if 1 < len(off) == len(each.tools) and len(set(off.values())) == 1:
            reasons.setdefault(next(iter(off.values())), []).append(f"**{plain(each.toolkit.name)}**")
        else:
            for name, reason in off.items():
                reasons.setdefault(reason, []).append(f"`{name}`")
    return reasons


def _line(ask: CommandContext, held: ListedToolkit, off: bool, room: int, most: int = DESCRIBED[1]) -> str:
    toolkit, n = held.toolkit, len(held.tools)
    count = ask.say("1 tool") if n == 1 else ask.say("{n} tools", n=n)
    if held.usable < n:
        count = ask.say("{n} of {all} tools", n=held.usable, all=n)
    facts = [ask.say(SOURCES[toolkit.source]), count]
    facts += [ask.say("always included")] if toolkit.base and not off else []
    facts += [ask.say("switched off by you")] if off else []
    fewest = DESCRIBED[0]
    described = ask.say(toolkit.description) if toolkit.source == "ours" else toolkit.description
    about = f": {plain(described, min(most, room))}" if room >= fewest else ""
    return f"- {'⏹ ' if off else ''}**{plain(toolkit.name)}** ({', '.join(facts)}){about}"
