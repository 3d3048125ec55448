"""Completes command arguments: models, tiers, levels, skills, toolkits, commands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rapidfuzz import fuzz, process

from handlers.access.roles import may
from handlers.commands.skill import OFF
from handlers.context import CommandSpec
from handlers.parsing import quoted
from routing.errors import StorageFault
from routing.policy.models import Models
from routing.policy.tiers import DEFAULT
from routing.ports import PreferenceStore, Toolbox
from routing.tools.presentation import DISCOVERY
from routing.types.messages import UserKey
from routing.types.model_names import LOCAL_PROVIDER
from routing.types.people import Person, Preferences
from routing.types.skills import Skills
from routing.types.tiers import AUTO, TIERS

MAX_SUGGESTIONS = 25
"""Discord's limit."""
ALIKE = 60.0
"""Minimum similarity (0-100) for a fuzzy match."""
LOOKUP_SECONDS = 0.05
"""Maximum wait for the person lookup, which the storage usually answers from memory."""


@dataclass(frozen=True, slots=True)
class Typing:
    """A command being typed: the current argument, its text so far, and the other arguments."""

    command: str
    argument: str
    text: str
    given: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Known:
    """A person, and the toolkits they can switch `off` or `on`."""

    person: Person
    preferences: Preferences
    off: tuple[str, ...]
    on: tuple[str, ...]


class People(Protocol):
    """Looks up people."""

    async def find(self, user: UserKey) -> Person | None:
        """A person who may write; None for a stranger."""


class Suggestions:
    """Answers from memory within LOOKUP_SECONDS. Strangers get no suggestions."""

    def __init__(
        self,
        specs: Sequence[CommandSpec],
        models: Models,
        toolbox: Toolbox,
        skills: Callable[[], Skills],
        people: People,
        preferences: PreferenceStore,
    ) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._models = models
        self._toolbox = toolbox
        self._skills = skills
        self._people = people
        self._preferences = preferences
        self._looking: set[asyncio.Task[_Known | None]] = set()

    async def offer(self, user: UserKey, typing: Typing) -> tuple[str, ...] | None:
        """At most 25 suggestions for the argument, best first. None if the lookup is not done yet; a later call
        succeeds."""
        look = await self._look(user, typing.command == "tools")
        if look is None:
            return None
        known, spec = look.result(), self._specs.get(typing.command)
        if known is None or spec is None or not may(known.person, spec.role):
            return ()
        return likeliest(typing.text, self._words(spec, typing, known))

    async def is_stranger(self, user: UserKey) -> bool:
        """Whether the person is already known to be a stranger or blocked."""
        look = await self._look(user, False)
        if look is None:
            return False
        known = look.result()
        return known is None or known.person.role == "blocked"

    def _words(self, spec: CommandSpec, typing: Typing, known: _Known) -> Iterable[str]:
        match spec.name, typing.argument:
            case "model", "model":
                return self._offered()
            case "model", "provider":
                return sorted({name.partition("/")[0] for name in self._offered()})
            case "model", "level":
                return self._levels(typing.given.get("tier", ""), known.preferences)
            case "tier", "tier":
                return (AUTO, *TIERS, DEFAULT)
            case _, "tier":
                return TIERS
            case "skill", _:
                return (*self._skills().found, OFF)
            case "tools", _:
                return (*_switched("off", known.off), *_switched("on", known.on))
            case "help", _:
                return (name for name, each in self._specs.items() if may(known.person, each.role))
        return _next(spec, typing.text)

    def _offered(self) -> list[str]:
        """Model names in the order of /model list, with callable models first and the local model last."""
        config = self._models.config
        cards = [card for card in self._models.catalog.models() if card.provider in config.allowed]
        able = {provider: self._models.has_key(provider) for provider in {card.provider for card in cards}}
        able[LOCAL_PROVIDER] = False
        cards.sort(key=lambda card: (not able[card.provider], card.provider, card.display_name))
        return [card.name for card in cards]

    def _levels(self, chosen: str, preferences: Preferences) -> Iterable[str]:
        """The reasoning levels of the tier's model; of all tiers' models if no tier is chosen yet."""
        tiers = [tier for tier in TIERS if tier == chosen.lower()] or TIERS
        models = (self._models.configured(tier, preferences).model for tier in tiers)
        return dict.fromkeys(level for model in models for level in self._models.catalog.lookup(model).levels)

    async def _look(self, user: UserKey, with_toolkits: bool) -> asyncio.Task[_Known | None] | None:
        """The finished lookup; None if it takes too long. The lookup then continues in the background."""
        look = asyncio.create_task(self._found(user, with_toolkits))
        self._looking.add(look)
        look.add_done_callback(self._looking.discard)
        await asyncio.wait({look}, timeout=LOOKUP_SECONDS)
        return look if look.done() else None

    async def _found(self, user: UserKey, with_toolkits: bool) -> _Known | None:
        """None for a stranger, or if the storage fails."""
        try:
            person = await self._people.find(user)
            if person is None:
                return None
            switched_off = (await self._preferences.settings(person.id)).off
            preferences = await self._preferences.get(person.id)
        except StorageFault:
            return None
        offered = sorted(await self._toolbox.offered(person) if with_toolkits else (), key=lambda toolkit: toolkit.base)
        free = (each.name for each in offered if all(card.name != DISCOVERY for card in each.tools))
        off = tuple(name for name in free if name not in switched_off)
        return _Known(person, preferences, off, on=tuple(sorted(switched_off)))


def likeliest(text: str, words: Iterable[str]) -> tuple[str, ...]:
    """Words that start with the text, in whole or after a slash, then words that contain it. If none match, similar
    words; models are compared by the part after the slash."""
    wanted = text.casefold().strip()
    known = list(words)
    if not wanted:
        return tuple(known[:MAX_SUGGESTIONS])
    folded = [(word.casefold(), word) for word in known]
    begin = [word for fold, word in folded if fold.startswith(wanted) or f"/{wanted}" in fold]
    if len(begin) < MAX_SUGGESTIONS:
        begin += [word for fold, word in folded if wanted in fold and word not in begin]
    if begin:
        return tuple(begin[:MAX_SUGGESTIONS])
    own = [fold.rpartition("/")[2] for fold, _ in folded]
    like = process.extract(wanted.rpartition("/")[2], own, scorer=fuzz.ratio, score_cutoff=ALIKE, limit=MAX_SUGGESTIONS)
    return tuple(known[place] for _, _, place in like)


def _switched(switch: str, names: Iterable[str]) -> Iterable[str]:
    """Switch commands as typed after /tools. MCP server names may need quotes."""
    return (f"{switch} {quoted(name)}" for name in names)


def _next(spec: CommandSpec, text: str) -> Sequence[str]:
    """The text completed with each word allowed at its position; empty if an earlier word is not allowed at its own."""
    *before, _ = text.split(" ")
    if len(before) >= len(spec.choices) or any(
        word.lower() not in places for word, places in zip(before, spec.choices, strict=False)
    ):
        return ()
    return [" ".join([*before, word]) for word in spec.choices[len(before)]]
