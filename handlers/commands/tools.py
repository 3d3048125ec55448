"""/tools: lists the tools, shows which ones a message would activate, switches toolkits on and off, forgets what was
learned."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace

from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.learning import Learner
from handlers.parsing import quoted
from handlers.tool_reports import learned_list
from handlers.tool_reports.tool_list import ListedToolkit, ToolList, plain
from handlers.tool_reports.tool_offer import ToolOffers, compared
from handlers.tool_reports.tool_policy import ToolPolicy
from handlers.tools.dependencies import ToolServices
from routing.errors import Refused
from routing.ports import HistoryStore, PreferenceStore
from routing.text import nearest
from routing.types.messages import Button

SPEC = CommandSpec(
    "tools",
    "Your toolkits, and which tools a message would get",
    (
        "/tools",
        "/tools weather",
        "/tools will it rain in Rome?",
        "/tools off weather",
        "/tools on weather",
        "/tools ask mail_send",
        "/tools allow mail_send",
        "/tools forget",
    ),
    choices=(("on", "off", "ask", "allow", "forget"),),
    free_text=True,
    changes=True,
    personal=True,
)
BUTTONS = 8


def build(dependencies: CommandDependencies) -> Handler:
    return ToolsCommand(
        dependencies.preferences,
        dependencies.history,
        ToolOffers(
            dependencies.router,
            dependencies.tooling.toolbox,
            dependencies.tooling.selector,
            dependencies.preferences,
        ),
        ToolList(dependencies.tooling, dependencies.clock),
        dependencies.tooling,
        ToolPolicy(dependencies.tooling.toolbox, dependencies.allowances, dependencies.history),
        dependencies.learner,
    )


class ToolsCommand:
    """Toolkits are switched per person, in all chats. Previews of a message use the current conversation."""

    def __init__(
        self,
        preferences: PreferenceStore,
        history: HistoryStore,
        offers: ToolOffers,
        listed: ToolList,
        tooling: ToolServices,
        policy: ToolPolicy,
        learner: Learner,
    ) -> None:
        self._policy = policy
        self._preferences = preferences
        self._history = history
        self._offers = offers
        self._list = listed
        self._tooling = tooling
        self._learner = learner
        self._switching = asyncio.Lock()

    async def __call__(self, ask: CommandContext) -> Reply:
        switch = ask.rest.split(None, 1)[0].lower() if ask.rest else ""
        if switch in ("on", "off"):
            async with self._switching:  # two buttons pressed at once must both take effect
                head = await self._switch(ask, switch == "on")
            return await self._show(ask, head)
        if switch in ("ask", "allow") and len(ask.arguments) == 2:  # more words are a message to preview
            change = self._policy.ask_again if switch == "ask" else self._policy.allow_everyone
            return await change(ask, ask.arguments[1])
        if [each.lower() for each in ask.arguments] in learned_list.FORGETTING:
            return await learned_list.forget(ask, self._learner)
        text = _text(ask)
        if not text:
            return await self._show(ask)
        named = next((each for each in await self._list.held(ask.person) if _is_named(ask, each)), None)
        if named is not None:
            return await self._show_one(ask, named)
        conversation = await self._history.current(ask.message.chat)
        return Reply(await self._offers.explain(ask, conversation.id, text))

    async def _show(self, ask: CommandContext, head: str = "") -> Reply:
        off = (await self._preferences.settings(ask.person.id)).off
        one = ask.say("/tools <toolkit> shows the tools of one toolkit.")
        hint = ask.say("/tools <message> shows which tools that message would get, and why.")
        parts = [
            head,
            await self._list.shown(ask, off),
            "  \n".join(await self._policy.lines(ask)),
            "\n".join(await learned_list.lines(ask, self._learner)),
            self._list.faults(ask),
            compared(ask, self._tooling.selector, self._tooling.embedder) + f"  \n{one}  \n{hint}",
        ]
        return Reply("\n\n".join(filter(None, parts)), _keyboard(await self._list.held(ask.person), off))

    async def _show_one(self, ask: CommandContext, held: ListedToolkit) -> Reply:
        off = (await self._preferences.settings(ask.person.id)).off
        text = await self._list.detail(ask, held, held.toolkit.name in off, await self._policy.rules(ask))
        return Reply(text, _keyboard([held], off))

    async def _switch(self, ask: CommandContext, on: bool) -> str:
        """Switches a toolkit and returns the confirmation. Raises Refused and changes nothing if that is impossible."""
        settings = await self._preferences.settings(ask.person.id)
        held = await self._list.held(ask.person)
        name = _named(ask, held, settings.off)
        if (name not in settings.off) == on:
            as_it_is = "{name} is already on. Nothing was changed."
            raise Refused(as_it_is if on else "{name} is already off. Nothing was changed.", name=name)
        if any(each.toolkit.name == name and each.kept for each in held):
            raise Refused(
                "{name} can't be turned off, because small models find the other tools with it. Nothing was changed.",
                name=name,
            )
        off = settings.off - {name} if on else settings.off | {name}
        await self._preferences.set_settings(ask.person.id, replace(settings, off=off))
        if not on:
            await self._learner.switched_off(ask, name)
        if on:
            return ask.say("✅ {name} is on for you again.", name=f"**{plain(name)}**")
        words = "⏹ {name} is off for you in every chat. {command} turns it on again."
        return ask.say(words, name=f"**{plain(name)}**", command=f"`{_command('on', name)}`")


def _is_named(ask: CommandContext, held: ListedToolkit) -> bool:
    """Whether the command has the name of this toolkit and nothing else. In quotation marks, it is a message."""
    return ask.rest.strip().lower() == held.toolkit.name.lower()


def _text(ask: CommandContext) -> str:
    """The message to preview, without surrounding quotation marks."""
    return (ask.arguments[0] if len(ask.arguments) == 1 else ask.rest).strip()


def _named(ask: CommandContext, held: Sequence[ListedToolkit], off: Collection[str]) -> str:
    """The toolkit's exact name, including one that was switched off and no longer exists. Raises Refused."""
    switch, *given = ask.arguments
    switch = switch.lower()
    if not given:
        raise Refused("Name a toolkit: /tools {switch} <toolkit>. Nothing was changed.", switch=switch)
    if len(given) > 1:
        raise Refused(
            "Write one toolkit after {switch}. To ask about a message that begins with {switch}, "
            "put it in quotation marks. Nothing was changed.",
            switch=switch,
        )
    name = given[0]
    names = sorted({*(each.toolkit.name for each in held), *off})
    found = next((each for each in names if each.lower() == name.lower()), None)
    if found is not None:
        return found
    owner = next((each.toolkit.name for each in held if name.lower() in map(str.lower, each.tools)), None)
    if owner is not None:
        words = "{name} belongs to {toolkit}; only whole toolkits can be switched. Nothing was changed."
        raise Refused(words, name=name, toolkit=owner)
    meant = nearest(name, names)
    if meant is None:
        raise Refused("There is no toolkit {name}; /tools lists them. Nothing was changed.", name=name)
    words = "There is no toolkit {name}; did you mean {nearest}? Nothing was changed."
    raise Refused(words, name=name, nearest=meant)


def _command(switch: str, name: str) -> str:
    """The command as typed. MCP server names may need quotes."""
    return f"/tools {switch} {quoted(name)}"


def _keyboard(held: Sequence[ListedToolkit], off: Collection[str]) -> tuple[tuple[Button, ...], ...]:
    """Two buttons per row: toolkits that are off first, then those shown only for some messages."""
    free = [each.toolkit for each in held if not each.kept]
    ranked = sorted(free, key=lambda toolkit: (toolkit.name not in off, toolkit.base))[:BUTTONS]
    buttons = [
        Button(f"▶️ {each.name}", _command("on", each.name))
        if each.name in off
        else Button(f"⏹ {each.name}", _command("off", each.name))
        for each in ranked
    ]
    return tuple(tuple(buttons[at : at + 2]) for at in range(0, len(buttons), 2))
