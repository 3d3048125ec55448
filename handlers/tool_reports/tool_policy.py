"""Explains and changes which tools need a confirmation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handlers.access.roles import may
from handlers.context import CommandContext, Reply
from handlers.tool_reports.tool_list import listed
from handlers.tools.approval import Rule
from handlers.tools.toolbox import Toolbox
from routing.errors import Refused
from routing.ports import AllowanceStore, HistoryStore
from routing.types.messages import Button
from routing.types.tools import Allowance

MAX_NAMED = 12
RULES: Mapping[Rule, str] = {
    "asks": "Ask before each run: {tools}",
    "sometimes": "Ask before some runs: {tools}",
    "private": "Only in private chats: {tools}",
    "conversation": "Allowed by you in this conversation: {tools}",
    "always": "Always allowed by you: {tools}",
    "everyone": "Allowed for everyone by the owner: {tools}",
    "runtime-config.json": "Allowed for everyone in runtime-config.json: {tools}",
    "mcp.json": "Allowed for everyone in mcp.json: {tools}",
}
STORED: Sequence[Rule] = ("conversation", "always", "everyone")
"""Rules that /tools ask can revoke."""


class ToolPolicy:
    """Reads and changes the tools that run without a confirmation."""

    def __init__(self, toolbox: Toolbox, allowances: AllowanceStore, history: HistoryStore) -> None:
        self._toolbox = toolbox
        self._allowances = allowances
        self._history = history

    async def lines(self, ask: CommandContext) -> list[str]:
        """One line per rule that applies to a tool. Empty if no tool ever needs a confirmation."""
        rules = await self.rules(ask)
        found = []
        for rule in RULES:
            names = [f"`{name}`" for name, held in rules.items() if held == rule]
            if names:
                found.append(ask.say(RULES[rule], tools=listed(ask, names, MAX_NAMED)))
        if any(rule in STORED for rule in rules.values()):
            found.append(ask.say("/tools ask <tool> makes it ask again."))
        return found

    async def ask_again(self, ask: CommandContext, name: str) -> Reply:
        """Revokes the person's allowance. For an owner, also revokes the allowance for everyone."""
        tool = await self._named(ask, name)
        if not await self._allowances.revoke(ask.person.id, tool, everybody=may(ask.person, "owner")):
            rule = (await self.rules(ask))[tool]
            if rule == "everyone":
                raise Refused("An owner allowed {tool} for everyone; only an owner can take that back.", tool=tool)
            if rule == "sometimes":
                raise Refused("{tool} asks before some runs already. Nothing was changed.", tool=tool)
            if rule == "private":
                raise Refused("{tool} works only in private chats. Nothing was changed.", tool=tool)
            if rule != "asks":
                raise Refused("{tool} is allowed in {file}; remove it there.", tool=tool, file=rule)
            raise Refused("{tool} asks before each run already. Nothing was changed.", tool=tool)
        return Reply(ask.say("✅ {tool} asks before each run again.", tool=f"`{tool}`"))

    async def allow_everyone(self, ask: CommandContext, name: str) -> Reply:
        """Asks the owner to confirm with a button, because someone else may have suggested the typed command."""
        if not may(ask.person, "owner"):
            raise Refused("Only an owner can allow a tool for everyone. Nothing was changed.")
        tool = await self._named(ask, name)
        if self._toolbox.traits(tool).private and not ask.message.private:
            raise Refused("{tool} shows private data, so nobody can allow it for everyone here.", tool=tool)
        version = self._toolbox.version(tool)
        made = f"{tool}:{version}"
        if ask.button is None:
            words = "⚠️ Shall {tool} run for everyone who may use it, without asking them first?"
            button = Button(ask.say("✅ Allow for everyone"), f"/tools allow {tool}", made, press_only=True)
            return Reply(ask.say(words, tool=f"`{tool}`"), ((button,),))
        if version is None or ask.button.about != made:
            raise Refused("{tool} has changed since. Nothing was changed; write /tools allow {tool} again.", tool=tool)
        await self._allowances.allow(ask.person.id, Allowance(tool, version, everybody=True))
        words = "✅ {tool} runs for everyone without asking. {command} takes that back."
        return Reply(ask.say(words, tool=f"`{tool}`", command=f"`/tools ask {tool}`"))

    async def rules(self, ask: CommandContext) -> Mapping[str, Rule]:
        """The tools that may ask, with what applies to them in this conversation."""
        conversation = await self._history.current(ask.message.chat)
        return await self._toolbox.rules(ask.person, conversation.id, ask.message.private)

    async def _named(self, ask: CommandContext, name: str) -> str:
        """The tool's exact name. Raises Refused for a tool that never needs a confirmation."""
        rules = await self.rules(ask)
        found = next((each for each in rules if each.lower() == name.lower()), None)
        if found is None:
            known = ", ".join(list(rules)[:MAX_NAMED]) or ask.say("none")
            raise Refused(
                "There is no tool {name} that asks before it runs. These do: {known}.", name=name, known=known
            )
        return found
