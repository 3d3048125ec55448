"""/model: a person's own model for each tier."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

from handlers.asking import Ask, CommandSpec, Handler, Reply
from handlers.needs import Needs
from routing import tiers
from routing.errors import Refused
from routing.models.catalog import ModelCard
from routing.models.choice import Models, provider_of
from routing.ports import Llm
from routing.stores import PreferenceStore
from routing.types import TIERS, Button, Override, Tier

SPEC = CommandSpec(
    "model",
    "Show or choose the model of each tier",
    (
        "/model",
        "/model list",
        "/model list openai",
        "/model coding openai/gpt-5.2",
        "/model coding reasoning high",
        "/model coding reset",
    ),
    choices=(("list", *TIERS), ("reasoning", "reset")),
    role="user",
    changes=True,
    personal=True,
)
BUTTON_MODELS = 8


def build(needs: Needs) -> Handler:
    """The command with its ports."""
    return ModelCommand(needs.preferences, needs.router.models, needs.llm, needs.discovered)


class ModelCommand:
    """Overrides are kept for one person and one tier; `discovered` names what the last discovery
    brought, and the local models that are there."""

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

    async def __call__(self, ask: Ask) -> Reply:
        words = ask.arguments
        if not words:
            return await self._show(ask)
        if words[0].lower() == "list":
            return self._list(ask)
        tier = tiers.parse(words[0])
        match [word.lower() for word in words[1:]]:
            case []:
                return await self._menu(ask, tier)
            case ["reset"]:
                said = await self._reset(ask, tier)
            case ["reasoning", level]:
                said = await self._set_reasoning(ask, tier, level)
            case [name] if name != "reasoning":
                said = await self._set_model(ask, tier, words[1])
            case _:
                raise _usage()
        shown = await self._show(ask)
        return Reply(f"{said}\n\n{shown.text}", shown.buttons)

    async def _show(self, ask: Ask) -> Reply:
        preferences = await self._preferences.get(ask.person.id)
        lines = []
        for tier in TIERS:
            choice = self._models.configured(tier, preferences)
            source = ask.say("override" if choice.source == "override" else "default")
            level = ask.say("reasoning {level}", level=choice.reasoning or "none")
            lines.append(f"**{tier}**: `{choice.model}`, {level}, {source}")
        buttons = [Button(tier, f"/model {tier}") for tier in TIERS]
        return Reply("  \n".join(lines), (tuple(buttons[:2]), tuple(buttons[2:])))

    async def _menu(self, ask: Ask, tier: Tier) -> Reply:
        """A tier alone is a question: what it takes, with buttons; in words it is the usage."""
        if ask.message.press is None:
            raise _usage()
        preferences = await self._preferences.get(ask.person.id)
        current = self._models.configured(tier, preferences)
        cards = [card for card in self._offered() if self._models.has_key(card.provider)][:BUTTON_MODELS]
        rows: list[tuple[Button, ...]] = [
            (Button(_ticked(card.name, current.model), f"/model {tier} {card.name}"),) for card in cards
        ]
        levels = self._models.catalog.lookup(current.model).levels
        level_row = tuple(
            Button(_ticked(level, current.reasoning or "none"), f"/model {tier} reasoning {level}") for level in levels
        )
        reset = Button(ask.say("↩ Reset"), f"/model {tier} reset")
        back = Button(ask.say("« Back"), "/model")
        rows += [level_row] if level_row else []
        text = ask.say("The model for **{tier}** is {model}.", tier=tier, model=f"`{current.model}`")
        return Reply(text, (*rows, (reset, back)))

    def _list(self, ask: Ask) -> Reply:
        lines = []
        provider = ""
        wanted = [word.lower() for word in ask.arguments[1:]]
        for wish in wanted:
            self._models.check_provider(wish, self._models.config.allowed)
        for card in self._offered():
            if wanted and card.provider not in wanted:
                continue
            if card.provider != provider:
                provider = card.provider
                lines.append(f"\n**{provider}**\n")
            levels = f": {', '.join(card.levels)}" if card.levels else ""
            lines.append(f"- `{card.name}` {card.display_name}{levels}")
        return Reply("\n".join(lines).strip() or ask.say("No provider is allowed here."))

    def _offered(self) -> list[ModelCard]:
        cards = (card for card in self._models.catalog.models() if card.provider in self._models.config.allowed)
        return sorted(cards, key=lambda card: (card.provider, card.display_name))

    async def _set_model(self, ask: Ask, tier: Tier, name: str) -> str:
        provider = provider_of(name) if "/" in name else ""
        if provider:
            self._models.check_provider(provider, self._models.config.allowed)
        card = self._models.catalog.lookup(name)
        if not provider or not await self._known(name, card):
            nearest = self._models.catalog.nearest(name, self._models.config.allowed)
            if nearest:
                raise Refused(
                    "I don't know the model {name}. Did you mean {nearest}? Nothing was changed.",
                    name=name,
                    nearest=", ".join(nearest),
                )
            raise Refused(
                "I don't know the model {name}. /model list shows those I know. Nothing was changed.", name=name
            )
        level = card.reasoning.default if card.reasoning else None
        await self._preferences.set_override(ask.person.id, tier, Override(name, level))
        said = ask.say("✅ {tier} now uses {model}.", tier=tier, model=f"`{name}`")
        if self._models.has_key(provider):
            return said
        missing = ask.say(
            "⚠️ No key for {provider} is set: its owner has to set {variable}.",
            provider=provider,
            variable=f"`{self._models.config.profile(provider).variable}`",
        )
        return f"{said}\n{missing}"

    async def _known(self, name: str, card: ModelCard) -> bool:
        return card.known or name in await self._discovered() or await self._llm.knows(name)

    async def _set_reasoning(self, ask: Ask, tier: Tier, level: str) -> str:
        preferences = await self._preferences.get(ask.person.id)
        model = self._models.configured(tier, preferences).model
        level = self._models.check_level(self._models.catalog.lookup(model), model, level)
        await self._preferences.set_override(ask.person.id, tier, Override(model, level))
        return ask.say("✅ {tier} now reasons at level {level}.", tier=tier, level=level)

    async def _reset(self, ask: Ask, tier: Tier) -> str:
        if await self._preferences.clear_override(ask.person.id, tier):
            return ask.say("✅ {tier} uses the configured model again.", tier=tier)
        return ask.say("There was no model of your own for {tier}.", tier=tier)


def _ticked(label: str, current: str) -> str:
    return f"✅ {label}" if label == current else label


def _usage() -> Refused:
    return Refused(
        "Write {usage}. Nothing was changed.",
        usage="/model <tier> <provider/model>, /model <tier> reasoning <level>, /model <tier> reset, /model list",
    )
