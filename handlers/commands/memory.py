"""/memory: shows, changes, exports and deletes what is remembered about the person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from handlers.access.roles import may
from handlers.context import CommandContext, CommandSpec, Handler, Reply, check_private, unknown_subcommand
from handlers.dependencies import CommandDependencies
from handlers.replies.facts import code, numbered, origin
from routing.errors import Refused
from routing.ports import FactStore, PreferenceStore
from routing.types.memory import MAX_FACT_CHARACTERS, Fact, fact_text
from routing.types.messages import Button, Document
from routing.types.time_zones import time_zone

SPEC = CommandSpec(
    "memory",
    "What I remember about you: list, change, delete, export",
    (
        "/memory",
        "/memory 12",
        "/memory add I am allergic to nuts",
        "/memory edit 12 I live in Bonn",
        "/memory pin 12",
        "/memory unpin 12",
        "/memory forget 12",
        "/memory forget all",
        "/memory export",
        "/memory off",
        "/memory on",
    ),
    choices=(("list", "add", "edit", "pin", "unpin", "forget", "export", "off", "on"),),
    free_text=True,
    changes=True,
    personal=True,
)
PAGE = 10
MAX_DIGITS = 18


def build(dependencies: CommandDependencies) -> Handler:
    return MemoryCommand(dependencies.facts, dependencies.preferences)


class MemoryCommand:
    """Everyone sees and deletes only their own facts. Pages are numbered from 1, with the newest facts first."""

    def __init__(self, facts: FactStore, preferences: PreferenceStore) -> None:
        self._facts = facts
        self._preferences = preferences

    async def __call__(self, ask: CommandContext) -> Reply:
        check_private(ask)
        words = [ask.arguments[0].lower(), *ask.arguments[1:]] if ask.arguments else ["list"]
        match words:
            case ["list"]:
                return await self._list(ask, 1)
            case ["list", page] if _is_number(page):
                return await self._list(ask, int(page))
            case [number] if _is_number(number):
                return await self._one(ask, int(number))
            case ["forget", *numbers]:
                return await self._forget(ask, [each.lower() for each in numbers])
            case ["export"]:
                return await self._export(ask)
            case ["on" | "off"]:
                return await self._switch(ask, words[0] == "on")
        return await self._change(ask, words)

    async def _change(self, ask: CommandContext, words: Sequence[str]) -> Reply:
        """The subcommands that add or change a fact."""
        match words:
            case ["add", *_]:
                return await self._add(ask, _rest(ask.rest, 1))
            case ["edit", number, *_] if _is_number(number):
                return await self._edit(ask, int(number), _rest(ask.rest, 2))
            case ["pin" | "unpin", number] if _is_number(number):
                return await self._pin(ask, int(number), words[0] == "pin")
        raise unknown_subcommand(SPEC, words[0])

    async def _list(self, ask: CommandContext, page: int, head: str = "") -> Reply:
        facts = (await self._facts.of(ask.person.id))[::-1]
        on = (await self._preferences.settings(ask.person.id)).memory
        state = "" if on else ask.say("The memory is off: I remember and use nothing. /memory on turns it on.")
        if not facts:
            empty = ask.say(
                "I remember nothing about you yet. Ask me to remember something, or write /memory add <text>."
            )
            return Reply("\n\n".join(filter(None, (head, state, empty))))
        pages = -(-len(facts) // PAGE)
        page = min(max(1, page), pages)
        shown, zone = facts[(page - 1) * PAGE : page * PAGE], await self._zone(ask)
        title = ask.say(
            "🧠 What I remember about you ({n}), page {page} of {pages}:", n=len(facts), page=page, pages=pages
        )
        lines = [f"{numbered(each)}  \n{origin(ask.say, each, zone)}" for each in shown]
        hint = ask.say("A button deletes. /memory edit <number> <text> changes one, /memory export sends all.")
        text = "\n\n".join(filter(None, (head, state, title, *lines, hint)))
        return Reply(text, _keyboard(ask, shown, page, pages, on))

    async def _one(self, ask: CommandContext, number: int) -> Reply:
        fact = await self._known(ask, number)
        zone = await self._zone(ask)
        pin = (
            Button(ask.say("📌 Not in every prompt"), f"/memory unpin {number}")
            if fact.pinned
            else Button(ask.say("📌 In every prompt"), f"/memory pin {number}")
        )
        text = f"**{number}.** {code(fact.text, MAX_FACT_CHARACTERS)}  \n{origin(ask.say, fact, zone)}"
        return Reply(text, ((pin, Button(ask.say("🗑 Forget"), f"/memory forget {number}")),))

    async def _add(self, ask: CommandContext, text: str) -> Reply:
        if not may(ask.person, "user"):
            raise Refused("Guests can't add to the memory. Nothing was changed.")
        if not (await self._preferences.settings(ask.person.id)).memory:
            raise Refused("The memory is off. /memory on turns it on. Nothing was changed.")
        added = await self._facts.add(ask.person.id, Fact(0, _checked(text), 0.0, "person"))
        return Reply(ask.say("🧠 Remembered: {facts}", facts=numbered(added)))

    async def _edit(self, ask: CommandContext, number: int, text: str) -> Reply:
        edited = await self._facts.edit(ask.person.id, number, _checked(text))
        if edited is None:
            raise _missing(number)
        return Reply(ask.say("✏️ Changed: {fact}", fact=numbered(edited)))

    async def _pin(self, ask: CommandContext, number: int, pinned: bool) -> Reply:
        if await self._facts.pin(ask.person.id, number, pinned) is None:
            raise _missing(number)
        return await self._one(ask, number)

    async def _forget(self, ask: CommandContext, words: Sequence[str]) -> Reply:
        if words in (["all"], ["all", "yes"]):
            return await self._forget_all(ask, confirmed=len(words) == 2 and ask.pressed)
        if not words or not all(map(_is_number, words)):
            raise Refused("Write /memory forget and a number, or /memory forget all. Nothing was changed.")
        gone = await self._facts.delete(ask.person.id, [int(each) for each in words])
        if not gone:
            raise _missing(int(words[0]))
        words = ask.say("🗑 Forgotten: {facts}", facts="; ".join(code(each.text) for each in gone))
        if ask.button is None:
            return Reply(words)
        if not ask.button.about:
            return await self._list(ask, 1, words)
        await ask.live.acknowledge(spent=True)  # the button below an answer, which stays
        return Reply(words, apart=True)

    async def _forget_all(self, ask: CommandContext, confirmed: bool) -> Reply:
        facts = await self._facts.of(ask.person.id)
        if not facts:
            raise Refused("I remember nothing about you.")
        if not confirmed:
            button = Button(ask.say("🗑 Forget all of it"), "/memory forget all yes")
            return Reply(ask.say("This deletes everything I remember about you ({n}).", n=len(facts)), ((button,),))
        gone = await self._facts.delete(ask.person.id, [each.id for each in facts])
        return Reply(ask.say("🗑 Everything I remembered about you is deleted ({n}).", n=len(gone)))

    async def _export(self, ask: CommandContext) -> Reply:
        facts, zone = await self._facts.of(ask.person.id), await self._zone(ask)
        if not facts:
            raise Refused("I remember nothing about you.")
        title = ask.say("What I remember about you")
        lines = [f"- {each.id}. {each.text} ({self._source(ask, each, zone)})" for each in facts]
        made = Document("memory.md", f"# {title}\n\n" + "\n".join(lines) + "\n")
        return Reply(ask.say("📄 What I remember about you as a file ({n}).", n=len(facts)), document=made)

    def _source(self, ask: CommandContext, fact: Fact, zone: ZoneInfo) -> str:
        told = ask.say("conversation {id}", id=str(fact.conversation_id)) if fact.conversation_id else ""
        return " · ".join(filter(None, (origin(ask.say, fact, zone), told)))

    async def _switch(self, ask: CommandContext, on: bool) -> Reply:
        settings = await self._preferences.settings(ask.person.id)
        await self._preferences.set_settings(ask.person.id, replace(settings, memory=on))
        kept = len(await self._facts.of(ask.person.id))
        if on:
            return Reply(ask.say("🧠 The memory is on."))
        words = "⏹ The memory is off: I remember and use nothing. What I know ({n}) stays until /memory forget all."
        return Reply(ask.say(words, n=kept))

    async def _known(self, ask: CommandContext, number: int) -> Fact:
        found = next((each for each in await self._facts.of(ask.person.id) if each.id == number), None)
        if found is None:
            raise _missing(number)
        return found

    async def _zone(self, ask: CommandContext) -> ZoneInfo:
        return await time_zone((await self._preferences.settings(ask.person.id)).time_zone)


def _keyboard(
    ask: CommandContext, shown: Sequence[Fact], page: int, pages: int, on: bool
) -> tuple[tuple[Button, ...], ...]:
    """A button to delete each fact, then one for each page beside this one and the switch."""
    delete = [Button(f"🗑 {each.id}", f"/memory forget {each.id}") for each in shown]
    turn = [Button(f"◀ {page - 1}", f"/memory list {page - 1}")] if page > 1 else []
    turn += [Button(f"{page + 1} ▶", f"/memory list {page + 1}")] if page < pages else []
    switch = Button(ask.say("⏹ Memory off"), "/memory off") if on else Button(ask.say("▶️ Memory on"), "/memory on")
    return tuple(filter(None, (tuple(delete[:5]), tuple(delete[5:]), (*turn, switch))))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= MAX_DIGITS


def _rest(text: str, words: int) -> str:
    """The text after its first words, without surrounding quotation marks."""
    parts = text.split(None, words)
    found = parts[words].strip() if len(parts) > words else ""
    return found[1:-1] if len(found) > 1 and found[0] == found[-1] == '"' else found


def _checked(text: str) -> str:
    """The text to store. Raises Refused if it is empty or too long."""
    fact = fact_text(text)
    if not any(map(str.isalnum, fact)):
        raise Refused("Write what I should remember, such as /memory add I live in Bonn. Nothing was changed.")
    if len(fact) > MAX_FACT_CHARACTERS:
        raise Refused("I can remember up to {most} characters at once. Nothing was changed.", most=MAX_FACT_CHARACTERS)
    return fact


def _missing(number: int) -> Refused:
    return Refused("I remember nothing with the number {number}; /memory lists everything.", number=str(number))
