"""Chooses the model of a tier: the person's own, else the first of the pool with a key, a stand-in or the demo
model."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from routing.catalog.cards import ModelCard
from routing.catalog.catalog import Catalog
from routing.catalog.ollama import OLLAMA_DEFAULT, KnownWindow, OllamaModels, RunningOllama
from routing.catalog.sizes import size_of
from routing.config.contracts import output_limit
from routing.config.runtime import RouterConfig
from routing.errors import Refused
from routing.health.health import ModelHealth
from routing.policy.candidates import Member, Needs, candidates, obstacle, pool_of
from routing.ports import Clock
from routing.types.decisions import ModelChoice, ModelSource, SizeDecision, SkippedModel
from routing.types.llm import ChatMessage, ModelRequest, ToolSpec
from routing.types.model_names import LOCAL_MODEL, LOCAL_PROVIDER, OLLAMA_NAMES, OWN_MACHINE, is_model_name, provider_of
from routing.types.people import Override, Preferences
from routing.types.tiers import TIERS, Tier

NOTHING = Needs()
OMITS_PARAMETER = "none"
"""The reasoning level that omits the parameter."""
MAX_SIBLINGS = 2
"""Maximum number of other models of the only provider to try after the pool."""


@dataclass(frozen=True, slots=True)
class IgnoredLevel:
    """A configured reasoning level that the tier's first model doesn't support; `levels` are the supported ones."""

    model: str
    level: str
    levels: tuple[str, ...]


class Models:
    """Chooses models from the current configuration and catalogue."""

    def __init__(
        self,
        config: RouterConfig,
        catalog: Catalog,
        stated: OllamaModels | None = None,
        health: ModelHealth | None = None,
        clock: Clock = time.time,
        library_levels: Callable[[str], tuple[str, ...]] = lambda model: (),
    ) -> None:
        """`library_levels` returns LiteLLM's reasoning levels for models that are missing in the catalogue."""
        self._library_levels = library_levels
        self._clock = clock
        self.health = health or ModelHealth(clock)
        self.config = config
        self.catalog = catalog
        self.stated = stated or OllamaModels()
        self.running: RunningOllama | None = None
        """A running Ollama, for tiers whose pool has no key."""

    def snapshot(self) -> Models:
        """A copy that keeps the current configuration and catalogue when they are reloaded."""
        return copy.copy(self)

    def configured(self, tier: Tier, preferences: Preferences) -> ModelChoice:
        """The configured model of a tier, regardless of health: the person's own, else the first of the pool with a
        key, the stand-in or the demo model."""
        own = self.override(tier, preferences)
        pool = self.config.contracts[tier].pool
        without = tuple(SkippedModel(model, "key") for model in pool if not self.has_key(provider_of(model)))
        able = [own.model] if own else [model for model in pool if self.has_key(provider_of(model))]
        if not able and (stand_in := self.stand_in(tier)) is not None:
            able = [stand_in]
        if not able:
            return ModelChoice(LOCAL_MODEL, None, "local", skipped=without)
        model, *rest = able
        level, source = self._level(model, tier, own)
        return ModelChoice(model, level, source, tuple(rest), without)

    def choose(
        self, tier: Tier, preferences: Preferences, needs: Needs = NOTHING, tried: Collection[str] = ()
    ) -> ModelChoice:
        """Choose a healthy model that meets the needs: the person's own first, then the pool in order. Models in
        `tried` are chosen again only if no other is left."""
        own = self.override(tier, preferences)
        pool = self._pool(tier, own)
        found = candidates([self._member(model, tier) for model in pool], needs, self._clock())
        siblings = self._siblings(pool, needs, tier)
        order = [model for model in found.order if model not in tried]
        if not order and tried:
            order = [model for model in siblings if model not in tried]
        order = order or list(found.order)
        if self.only_local(tier, preferences):
            return ModelChoice(LOCAL_MODEL, None, "local", skipped=found.skipped)
        if not order:  # all have a long cooldown; calling the first reports it
            order = [next(each.model for each in found.skipped if each.why != "key")]
        model, *rest = order
        level, source = self._level(model, tier, own)
        if model in siblings:
            return ModelChoice(model, self.reasoning(model, None), "fallback", tuple(rest), found.skipped)
        ahead = pool[: pool.index(model)]
        instead_of = [
            each
            for each in found.skipped
            if each.model in ahead and (each.why != "key" or (own is not None and each.model == own.model))
        ]
        last = found.last_resort
        return ModelChoice(model, level, source, tuple(rest), found.skipped, tuple(instead_of), last, siblings)

    def override(self, tier: Tier, preferences: Preferences) -> Override | None:
        """A person's own model for a tier. Ignores stored names that are not valid."""
        own = preferences.overrides.get(tier)
        return own if own is not None and self.is_valid(own.model) else None

    def is_valid(self, model: str) -> bool:
        """Whether the name may be sent to the provider."""
        return is_model_name(model, self.config.profile(provider_of(model)).api_type)

    def _siblings(self, pool: Collection[str], needs: Needs, tier: Tier) -> tuple[str, ...]:
        """If only one provider has a key, up to MAX_SIBLINGS of its other models, in case only the chosen one is down:
        those of other tiers, else the catalogue's most similar names."""
        able = [model for model in pool if self.has_key(provider_of(model))]
        providers = {provider_of(model) for model in able}
        if len(providers) != 1 or providers & OWN_MACHINE:  # there only installed models exist
            return ()
        configured = (model for each in TIERS for model in self.config.contracts[each].pool)
        named = [model for model in configured if provider_of(model) in providers]
        others = [model for model in dict.fromkeys(named) if model not in pool]
        others = others or [model for model in self.catalog.nearest(able[0], providers) if model not in pool]
        found = candidates([self._member(model, tier) for model in others], needs, self._clock())
        return () if found.last_resort else found.order[:MAX_SIBLINGS]

    def _level(self, model: str, tier: Tier, own: Override | None) -> tuple[str | None, ModelSource]:
        """The reasoning level of a model and the source of the choice."""
        if own is not None and model == own.model:
            return self.reasoning(model, own.reasoning), "override"
        if model not in self.config.contracts[tier].pool:
            return self.reasoning(model, None), "stand-in"
        first = own is None and model == self.config.contracts[tier].pool[0]
        configured = self.config.reasoning[tier] if model == self.config.contracts[tier].pool[0] else None
        return self.reasoning(model, configured), "configured" if first else "fallback"

    def _member(self, model: str, tier: Tier) -> Member:
        profile, card = self.config.profile(provider_of(model)), self.catalog.lookup(model)
        health = self.health.of(model, profile, tier)
        return Member(
            model=model,
            has_key=self.has_key(profile.name),
            vision=card.supports_vision,
            tools=self.takes_tools(model),
            window=self.window(model, None),
            cooldown=health.cooldown,
            breaker=health.breaker,
            slow=health.slow.until if health.slow else None,
        )

    def obstacle(self, model: str, tier: Tier) -> SkippedModel | None:
        """Why a model can't be called now; None if it can."""
        return obstacle(self._member(model, tier), NOTHING, self._clock())

    def reasoning(self, model: str, level: str | None) -> str | None:
        """The reasoning level to send: `level` if the model supports it, else the catalogue's default. None for `none`
        and for models that aren't known to reason."""
        reasoning = self.catalog.lookup(model).reasoning
        level = level.lower() if level else None
        if level is None or level not in (*self.levels(model), OMITS_PARAMETER):
            level = reasoning.default if reasoning else None
        return None if level == OMITS_PARAMETER else level

    def levels(self, model: str) -> tuple[str, ...]:
        """The known reasoning levels of a model, from the catalogue or else from LiteLLM."""
        card = self.catalog.lookup(model)
        return card.levels if card.known else self._library_levels(model)

    def ignored_level(self, tier: Tier) -> IgnoredLevel | None:
        """The tier's configured reasoning level if its first model doesn't support it."""
        model, level = self.config.contracts[tier].pool[0], self.config.reasoning[tier]
        levels = self.levels(model)
        if level is None or level.lower() in (*levels, OMITS_PARAMETER):
            return None
        return IgnoredLevel(model, level, levels)

    def window(self, model: str, level: str | None) -> int:
        """The context window at a reasoning level, in tokens."""
        return self.known_window(model, level).tokens

    def known_window(self, model: str, level: str | None) -> KnownWindow:
        """The smallest context window known from the catalogue, a refusal or Ollama. Unknown Ollama models get Ollama's
        default window, because Ollama drops what exceeds it without an error."""
        card, learned = self.catalog.lookup(model), self.health.windows.of(model)
        ollama = self.stated.window(model, self.config.profile(provider_of(model)))
        if ollama is None and not card.known and provider_of(model) in OLLAMA_NAMES:
            ollama = OLLAMA_DEFAULT
        windows = [KnownWindow(card.limit(level), "catalogue" if card.known else "assumed")]
        if learned is not None:
            windows.append(KnownWindow(learned, "refusal"))
        if ollama is not None:
            windows.append(ollama)
        return min(windows, key=lambda each: each.tokens)

    def only_local(self, tier: Tier, preferences: Preferences) -> bool:
        """Whether only the demo model can serve the tier."""
        own = self.override(tier, preferences)
        return not any(self.has_key(provider_of(model)) for model in self._pool(tier, own))

    def has_model(self, tier: Tier, preferences: Preferences) -> bool:
        """Whether a model of the tier's own pool, or the person's choice for it, can be called."""
        own = preferences.overrides.get(tier)
        pool = pool_of(self.config.contracts[tier].pool, own.model if own else None)
        return any(self.has_key(provider_of(model)) for model in pool)

    def stand_in(self, tier: Tier) -> str | None:
        """The substitute if no model of the tier's pool can be called: the first usable model of another tier, else a
        running Ollama's. None: only the demo model is left."""
        others = (model for each in TIERS if each != tier for model in self.config.contracts[each].pool)
        usable = [model for model in others if self.has_key(provider_of(model))]
        best = self.running.best if self.running is not None else next(iter(usable), None)
        return next((model for model in usable if not self._is_absent(model)), best)

    def _is_absent(self, model: str) -> bool:
        """Whether a running Ollama lacks the model."""
        provider, _, name = model.partition("/")
        return provider in OLLAMA_NAMES and self.running is not None and not self.running.has(name)

    @property
    def ollama(self) -> str | None:
        """The best chat model of a running Ollama; None if a model of some tier can be called."""
        return self.running.best if self.running is not None and self.without_keys() else None

    def only_ollama(self) -> bool:
        """Whether no model of any tier can be called, except Ollama's."""
        providers = {provider_of(each) for pool in self.config.pools.values() for each in pool}
        return not any(self.has_key(each) for each in providers - OLLAMA_NAMES)

    def without_keys(self) -> bool:
        """Whether no model of any tier can be called."""
        return not any(self.has_key(provider_of(model)) for pool in self.config.pools.values() for model in pool)

    def _pool(self, tier: Tier, own: Override | None) -> tuple[str, ...]:
        """The tier's models in order; with a stand-in at the end if none of them can be called."""
        pool = pool_of(self.config.contracts[tier].pool, own.model if own else None)
        if any(self.has_key(provider_of(model)) for model in pool):
            return pool
        stand_in = self.stand_in(tier)
        return pool if stand_in is None else (*pool, stand_in)

    def has_key(self, provider: str) -> bool:
        """Whether the provider can be called: it has a key, or a custom address that may need none."""
        if provider == LOCAL_PROVIDER:
            return True
        profile = self.config.profile(provider)
        return profile.api_key is not None or profile.base_url is not None

    def takes_tools(self, model: str) -> bool:
        """Whether a model can use tools. For Ollama's models its own answer overrides the catalogue."""
        if model == LOCAL_MODEL:
            return False
        able = self.stated.capabilities(model, self.config.profile(provider_of(model)))
        return "tools" in able if able else self.catalog.lookup(model).supports_tools

    def size(self, model: str) -> SizeDecision:
        """The size class of a model, which limits the tools it is shown. Uses the full name, because the card of
        `ollama/qwen3` also matches `ollama/qwen3:32b`; Ollama's own data is the last resort."""
        decision = size_of(model, self.catalog.lookup(model).size_class)
        if decision.known:
            return decision
        return size_of(model, metadata=self.stated.of(model, self.config.profile(provider_of(model))))

    async def learn_sizes(self) -> None:
        """Ask Ollama for the sizes and windows of the models in use. Runs until cancelled."""
        stand_in = () if self.ollama is None else (self.ollama,)
        for pool in (*self.config.pools.values(), stand_in):
            for model in pool:
                self.size(model)
                self.takes_tools(model)
        await self.stated.keep()

    def request(
        self,
        tier: Tier,
        choice: ModelChoice,
        messages: tuple[ChatMessage, ...],
        tools: tuple[ToolSpec, ...] = (),
        may_call: bool = True,
        room: int | None = None,
    ) -> ModelRequest:
        """Build a call of the chosen model without unsupported parameters. The output limit is the contract's, but at
        most `room`: the tokens left in the window."""
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
            max_output=output_limit(self.config.contracts[tier], choice.reasoning, room),
        )

    def _temperature(self, card: ModelCard) -> float | None:
        """The catalogue's temperature for this model, else the configured one; None if unsupported."""
        if not card.supports_temperature:
            return None
        return self.config.temperature if card.temperature is None else card.temperature

    def check_level(self, model: str, level: str) -> str:
        """Return the level in the model's spelling. Raises Refused, which lists the supported levels."""
        levels = self.levels(model)
        if not levels:
            raise Refused("{model} does not take a reasoning level. Nothing was changed.", model=model)
        found = next((known for known in levels if known == level.lower()), None)
        if found is None:
            raise Refused(
                "{model} has no reasoning level {level}. It has: {levels}. Nothing was changed.",
                model=model,
                level=level,
                levels=", ".join(levels),
            )
        return found

    def check_provider(self, provider: str, allowed: Collection[str]) -> None:
        """Raises Refused, which lists the allowed providers."""
        if provider not in allowed:
            raise Refused(
                "The provider {provider} is not allowed here. Allowed: {allowed}. Nothing was changed.",
                provider=provider or "?",
                allowed=", ".join(sorted(allowed)),
            )
