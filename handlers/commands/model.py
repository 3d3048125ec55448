"""/model: a person's own model for each tier."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

from handlers.context import CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from routing.errors import Refused
from routing.policy import tiers
from routing.policy.models import Models
from routing.ports import Llm, PreferenceStore
from routing.text import nearest as closest
from routing.types.messages import Button
from routing.types.model_names import LOCAL_PROVIDER, provider_of
from routing.types.people import Override
from routing.types.tiers import TIERS, Tier

SPEC = CommandSpec(
    "model",
    "Show or choose the model of each tier",
    (
        "/model",
        "/model list",
        "/model list openai",
        "/model coding",
        "/model coding openai",
        "/model coding openai/gpt-5.2",
        "/model coding reasoning high",
        "/model coding reset",
    ),
    choices=(("list", *TIERS), ("reasoning", "reset")),
    role="user",
    changes=True,
    personal=True,
)
PAGE = 6
"""Models per page of the picker."""
RESET = ("reset", "default")
"""The argument that restores the configured model, and a common guess for it."""
ANYWAY = "anyway"
"""The word that selects a model missing from the catalogue."""


def build(dependencies: CommandDependencies) -> Handler:
    return ModelCommand(dependencies.preferences, dependencies.router.models, dependencies.llm, dependencies.discovered)


class ModelCommand:
    """Stores overrides per person and tier. `discovered` returns the models of the last discovery and the local
    ones."""

    def __init__(
        self,
        preferences: PreferenceStore,
        models: Models,
        llm: Llm,
        discovered: Callable[[], Awaitable[Collection[str]]],
    ) -> None:
        self._preferences = preferences
        self._models = models
        self._llm = llm
        self._discovered = discovered

    async def __call__(self, ask: CommandContext) -> Reply:
        words = ask.arguments
        if not words:
            return await self._show(ask)
        if words[0].lower() == "list":
            return await self._list(ask)
        tier = tiers.parse(words[0])
        match [word.lower() for word in words[1:]]:
            case []:
                return await self._picker(ask, tier)
            case [provider] if provider in self._models.config.allowed:
                return await self._picker(ask, tier, provider)
            case [provider, page] if page.isdecimal():
                return await self._picker(ask, tier, provider, int(page[:4]))
            case [typed] if typed not in ("reasoning", "reset"):
                name = self._normalised(words[1])
                if (unknown := await self._unknown(ask, tier, name)) is not None:
                    return unknown
        answer = await self._change(ask, tier, words[1:])
        shown = await self._show(ask)
        return Reply(f"{answer}\n\n{shown.text}", shown.buttons)

    async def _change(self, ask: CommandContext, tier: Tier, words: Sequence[str]) -> str:
        match [word.lower() for word in words]:
            case ["reset"]:
                return await self._reset(ask, tier)
            case ["reasoning", level]:
                return await self._set_reasoning(ask, tier, level)
            case [typed] if typed != "reasoning":
                return await self._set_model(ask, tier, self._normalised(words[0]))
            case [_, last] if last == ANYWAY:
                name = self._normalised(words[0])
                if self._check_name(name) == LOCAL_PROVIDER and not await self._known(name):
                    raise Refused("There is no model {name} on this machine. Nothing was changed.", name=name)
                return await self._set_model(ask, tier, name)
        raise _usage()

    async def _show(self, ask: CommandContext) -> Reply:
        preferences = await self._preferences.get(ask.person.id)
        lines = []
        for tier in TIERS:
            choice = self._models.configured(tier, preferences)
            source = ask.say("override" if choice.source == "override" else "default")
            level = ask.say("reasoning {level}", level=choice.reasoning or "none")
            lines.append(f"**{tier}**: `{choice.model}`, {level}, {source}")
        buttons = [Button(tier, f"/model {tier}") for tier in TIERS]
        return Reply("  \n".join(lines), (tuple(buttons[:2]), tuple(buttons[2:])))

    async def _picker(self, ask: CommandContext, tier: Tier, provider: str = "", page: int = 1) -> Reply:
        """One page of a provider's models as buttons: the current model first, then the newest."""
        if provider:
            self._models.check_provider(provider, self._models.config.allowed)
        preferences = await self._preferences.get(ask.person.id)
        current = self._models.configured(tier, preferences)
        offered = await self._offered()
        able = [each for each in offered if self._models.has_key(each)]
        if not provider:
            own = provider_of(current.model)
            provider = own if own in able else next(iter(able), own)
        names = offered.get(provider, [])
        if current.model in names or provider == provider_of(current.model):
            names = [current.model, *(name for name in names if name != current.model)]
        pages = max(1, -(-len(names) // PAGE))
        page = min(max(page, 1), pages)
        shown = names[(page - 1) * PAGE : page * PAGE]
        rows: list[tuple[Button, ...]] = [
            (Button(_ticked(name, current.model), f"/model {tier} {name}"),) for name in shown
        ]
        turning = [(n, label) for n, label in ((page - 1, "‹"), (page + 1, ask.say("More ›"))) if 1 <= n <= pages]
        rows.append(tuple(Button(label, f"/model {tier} {provider} {n}") for n, label in turning))
        rows.append(tuple(Button(each, f"/model {tier} {each}") for each in able if each != provider))
        levels = self._models.levels(current.model)
        rows.append(
            tuple(
                Button(_ticked(level, current.reasoning or "none"), f"/model {tier} reasoning {level}")
                for level in levels
            )
        )
        reset = Button(ask.say("↩ Reset"), f"/model {tier} reset")
        rows.append((reset, Button(ask.say("« Back"), "/model")))
        text = ask.say("The model for **{tier}** is {model}.", tier=tier, model=f"`{current.model}`")
        where = ask.say("{provider}, page {page} of {pages}", provider=f"**{provider}**", page=page, pages=pages)
        other = ask.say("For another model write `/model {tier} <provider/model>`.", tier=tier)
        return Reply(f"{text}\n\n{where}  \n{other}", tuple(row for row in rows if row))

    async def _list(self, ask: CommandContext) -> Reply:
        wanted = [word.lower() for word in ask.arguments[1:]]
        for wish in wanted:
            self._models.check_provider(wish, self._models.config.allowed)
        lines: list[str] = []
        unknown: list[str] = []
        for provider, names in (await self._offered()).items():
            if wanted and provider not in wanted:
                continue
            if not names:
                unknown += [provider] if wanted or self._models.has_key(provider) else []
                continue
            lines.append(f"\n**{provider}**\n")
            for name in names:
                card, levels = self._models.catalog.lookup(name), self._models.levels(name)
                title = f" {card.display_name}" if card.known and card.name == name else ""
                lines.append(f"- `{name}`{title}{': ' if levels else ''}{', '.join(levels)}")
        if not self._models.config.allowed:
            return Reply(ask.say("No provider is allowed here."))
        if unknown or not lines:
            words = (
                "I don't know any models of {providers}: models/models.json lists none. `tierbot models discover "
                "<provider>` asks a provider, and /model <tier> <provider/model> takes any name."
            )
            providers = ", ".join(unknown or sorted(self._models.config.allowed))
            lines.append("\n" + ask.say(words, providers=providers))
        return Reply("\n".join(lines).strip())

    async def _offered(self) -> dict[str, list[str]]:
        """Models by allowed provider: the catalogue's, newest first, then discovered ones."""
        config, catalog = self._models.config, self._models.catalog
        names = [card.name for card in catalog.models()] + sorted(await self._discovered())
        offered: dict[str, list[str]] = {provider: [] for provider in sorted(config.allowed)}
        for name in dict.fromkeys(names):
            if provider_of(name) in offered:
                offered[provider_of(name)].append(name)
        return offered

    def _normalised(self, name: str) -> str:
        """Normalises the case of the provider."""
        provider, slash, rest = name.partition("/")
        return f"{provider.lower()}{slash}{rest}" if provider.lower() in self._models.config.allowed else name

    def _check_name(self, name: str) -> str:
        """The provider of a valid, allowed model name; empty if there is none. Raises Refused."""
        provider = provider_of(name) if "/" in name else ""
        if provider:
            self._models.check_provider(provider, self._models.config.allowed)
        if "/" in name and not self._models.is_valid(name):
            raise Refused("{name} is not a valid model name. Nothing was changed.", name=name)
        return provider

    async def _unknown(self, ask: CommandContext, tier: Tier, name: str) -> Reply | None:
        """The reply for a model that is unknown here; None if it is known. A button selects it anyway if its provider
        has a key."""
        provider = self._check_name(name)
        if provider and await self._known(name):
            return None
        nearest = ", ".join(self._models.catalog.nearest(name, self._models.config.allowed))
        if closest(name, RESET) is not None:
            nearest = f"/model {tier} reset"
        words = "I don't know the model {name}. /model list shows those I know. Nothing was changed."
        if nearest:
            words = "I don't know the model {name}. Did you mean {nearest}? Nothing was changed."
        if not provider or provider == LOCAL_PROVIDER:
            raise Refused(words, name=name, nearest=nearest)
        text = ask.say(words, name=name, nearest=nearest)
        if not self._models.has_key(provider):
            return Reply(f"{text}\n{self._without_key(ask, provider)}")
        command = f"/model {tier} {name} {ANYWAY}"
        how = ask.say("To use it anyway, write {command}.", command=f"`{command}`")
        return Reply(f"{text}\n{how}", ((Button(ask.say("Use it anyway"), command),),))

    async def _set_model(self, ask: CommandContext, tier: Tier, name: str) -> str:
        provider, card = provider_of(name), self._models.catalog.lookup(name)
        level = card.reasoning.default if card.reasoning else None
        await self._preferences.set_override(ask.person.id, tier, Override(name, level))
        said = ask.say("✅ {tier} now uses {model}.", tier=tier, model=f"`{name}`")
        if self._models.has_key(provider):
            return said
        return f"{said}\n{self._without_key(ask, provider)}"

    def _without_key(self, ask: CommandContext, provider: str) -> str:
        """Which variable to set for a provider without a key."""
        words = "⚠️ {provider} has no API key yet: add {variable} to workspace/.env."
        return ask.say(words, provider=provider, variable=f"`{self._models.config.profile(provider).variable}`")

    async def _known(self, name: str) -> bool:
        known = self._models.catalog.lookup(name).known
        return known or name in await self._discovered() or await self._llm.knows(name)

    async def _set_reasoning(self, ask: CommandContext, tier: Tier, level: str) -> str:
        preferences = await self._preferences.get(ask.person.id)
        model = self._models.configured(tier, preferences).model
        level = self._models.check_level(model, level)
        await self._preferences.set_override(ask.person.id, tier, Override(model, level))
        return ask.say("✅ {tier} now reasons at level {level}.", tier=tier, level=level)

    async def _reset(self, ask: CommandContext, tier: Tier) -> str:
        if await self._preferences.clear_override(ask.person.id, tier):
            return ask.say("✅ {tier} uses the configured model again.", tier=tier)
        return ask.say("There was no model of your own for {tier}.", tier=tier)


def _ticked(label: str, current: str) -> str:
    return f"✅ {label}" if label == current else label


def _usage() -> Refused:
    return Refused(
        "Write /model <tier>, /model <tier> <provider/model>, /model <tier> reasoning <level>, /model <tier> reset or "
        "/model list. Nothing was changed."
    )
