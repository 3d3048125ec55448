"""Which model serves a tier: a person's override, else the pool's first member with a key, else the local model."""

from __future__ import annotations

from collections.abc import Collection

from routing.calls import ChatMessage, ModelRequest, ToolSpec
from routing.config import RouterConfig
from routing.errors import Refused
from routing.models.catalog import Catalog, ModelCard
from routing.models.served import StatedSizes
from routing.models.sizes import SizeDecision, size_of
from routing.types import ModelChoice, Preferences, Tier

LOCAL_PROVIDER = "local"
LOCAL_MODEL = "local/smollm2-135m-instruct"
"""It chats and streams; it does not call tools (measured, dependencies specification)."""
SENDS_NOTHING = "none"
"""The configured level that leaves the reasoning parameter out."""


def provider_of(model: str) -> str:
    """`openai/gpt-5.2` → `openai`."""
    return model.partition("/")[0]


class Models:
    """The choice among models, from the configuration in force and the catalogue."""

    def __init__(self, config: RouterConfig, catalog: Catalog, stated: StatedSizes | None = None) -> None:
        self.config = config
        self.catalog = catalog
        self.stated = stated or StatedSizes()

    def choose(self, tier: Tier, preferences: Preferences) -> ModelChoice:
        """The model for a tier. An override is taken as it is: a missing key is said when it is called."""
        own = preferences.overrides.get(tier)
        if own is not None:
            level = self.reasoning(own.model, own.reasoning)
            return ModelChoice(own.model, level, "override")
        pool = self.config.pools[tier]
        able = tuple(model for model in pool if self.has_key(provider_of(model)))
        skipped = tuple(model for model in pool if model not in able)
        if not able:
            return ModelChoice(LOCAL_MODEL, None, "local", skipped=skipped)
        first = able[0] == pool[0]
        configured = self.config.reasoning[tier] if first else None
        return ModelChoice(
            able[0],
            self.reasoning(able[0], configured),
            "configured" if first else "fallback",
            fallbacks=able[1:],
            skipped=skipped,
        )

    def reasoning(self, model: str, level: str | None) -> str | None:
        """What to send: the level asked for where the model has it, else the catalogue's default; None for `none` or a
        plain model."""
        card = self.catalog.lookup(model)
        level = level.lower() if level else None
        if level is None or (card.known and level not in (*card.levels, SENDS_NOTHING)):
            level = card.reasoning.default if card.reasoning else None
        return None if level == SENDS_NOTHING else level

    def has_key(self, provider: str) -> bool:
        """Whether a call to this provider can be made: it has a key, or an address of its own that needs none."""
        if provider == LOCAL_PROVIDER:
            return True
        profile = self.config.profile(provider)
        return profile.api_key is not None or profile.base_url is not None

    def takes_tools(self, model: str) -> bool:
        """Whether a model gets any tools at all."""
        return model != LOCAL_MODEL and self.catalog.lookup(model).supports_tools

    def size(self, model: str) -> SizeDecision:
        """How much of the tools a model is shown, and why. The name is its own, with its tag, and not its card's: the
        card of `ollama/qwen3` also answers for `ollama/qwen3:32b`. What nothing tells, the provider may have told."""
        decision = size_of(model, self.catalog.lookup(model).size_class)
        if decision.known:
            return decision
        return size_of(model, metadata=self.stated.of(model, self.config.profile(provider_of(model))))

    async def learn_sizes(self) -> None:
        """Ask the providers for the sizes that nothing tells, those of the tiers at once; until it is cancelled."""
        for pool in self.config.pools.values():
            for model in pool:
                self.size(model)
        await self.stated.keep()

    def request(
        self,
        tier: Tier,
        choice: ModelChoice,
        messages: tuple[ChatMessage, ...],
        tools: tuple[ToolSpec, ...] = (),
        may_call: bool = True,
    ) -> ModelRequest:
        """A call of the chosen model, with what it takes: no temperature, no tools for one that knows none."""
        card = self.catalog.lookup(choice.model)
        return ModelRequest(
            tier=tier,
            model=choice.model,
            messages=messages,
            profile=self.config.profile(provider_of(choice.model)),
            reasoning=choice.reasoning,
            temperature=self._temperature(card),
            tools=tools if self.takes_tools(choice.model) else (),
            may_call=may_call,
        )

    def _temperature(self, card: ModelCard) -> float | None:
        """The catalogue's word on one model stands above the configuration's on all."""
        if not card.supports_temperature:
            return None
        return self.config.temperature if card.temperature is None else card.temperature

    def check_level(self, card: ModelCard, model: str, level: str) -> str:
        """A reasoning level the model has, in its own spelling. Raises Refused, naming those it has."""
        if card.reasoning is None:
            raise Refused("{model} does not take a reasoning level. Nothing was changed.", model=model)
        found = next((known for known in card.levels if known == level.lower()), None)
        if found is None:
            raise Refused(
                "{model} has no reasoning level {level}. It has: {levels}. Nothing was changed.",
                model=model,
                level=level,
                levels=", ".join(card.levels),
            )
        return found

    def check_provider(self, provider: str, allowed: Collection[str]) -> None:
        """Raises Refused, naming the providers a person may choose."""
        if provider not in allowed:
            raise Refused(
                "The provider {provider} is not allowed here. Allowed: {allowed}. Nothing was changed.",
                provider=provider or "?",
                allowed=", ".join(sorted(allowed)),
            )
