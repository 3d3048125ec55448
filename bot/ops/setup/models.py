"""The questions about what answers: a provider's key, Ollama, or a model on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bot.config.workspace import Workspace
from bot.ops.download import HUB, WEIGHTS, fetch, show_progress
from bot.ops.setup import checks
from bot.ops.setup.draft import Draft
from bot.ops.setup.prompts import Prompts
from bot.ops.web import client
from handlers.languages import Say
from routing.catalog.discovery import PROVIDERS
from routing.catalog.provider_models import DiscoveryError
from routing.config.runtime import variable
from routing.errors import ConfigError, KeyRejected
from routing.llm.local.weights import engine_installed, shipped_weights
from routing.types.model_names import LOCAL_PROVIDER, OWN_MACHINE, provider_of
from routing.types.people import Preferences

TITLES = {
    "openai": "OpenAI",
    "anthropic": "Anthropic (Claude)",
    "gemini": "Google (Gemini)",
    "xai": "xAI",
    "openrouter": "OpenRouter",
    "deepseek": "DeepSeek",
}
"""Names that are not the capitalised name of the provider."""
_OLLAMA, _DOWNLOAD, _NOTHING = "ollama", "download", "nothing"


class ModelQuestions:
    """Each answer is checked by asking a model for one word."""

    def __init__(
        self, prompts: Prompts, say: Say, conceal: Callable[[Iterable[str]], None], show: Callable[[str], None]
    ) -> None:
        self._prompts = prompts
        self.say = say
        self._conceal = conceal
        self._show = show

    async def ask(self, draft: Draft) -> Draft:
        """The draft with what answers from now on."""
        ollama = await checks.find_ollama(draft)
        while True:
            chosen = await self._prompts.choose(self.say("Which model should answer?"), self._choices(ollama))
            match chosen:
                case "nothing":
                    return draft
                case "ollama":
                    theirs = draft if draft.models.only_ollama() else draft.put_pools(ollama or "")
                    found = await self._answering(theirs, ollama or "")
                case "download":
                    found = await self._download(draft)
                case provider:
                    found = await self._provider(draft, provider)
            if found is not None:
                return found

    async def confirm(self, draft: Draft) -> Draft:
        """The draft whose model of the balanced tier answers, or with another choice. A key of the process environment
        is saved, because a service has another environment."""
        model = draft.models.configured("balanced", Preferences()).model
        provider, saved, tried = provider_of(model), draft.saved, draft
        if provider in saved.keys and variable(provider) in saved.given:
            tried = draft.put({variable(provider): saved.keys[provider]}).put_provider(provider)
        return await self._answering(tried, model) or await self.ask(draft)

    def _choices(self, ollama: str | None) -> dict[str, str]:
        say, choices = self.say, {}
        if ollama is not None:
            words = "Ollama on this machine: {model}"
            choices[_OLLAMA] = say(words, model=ollama.partition("/")[2])
        for name in PROVIDERS:
            choices[name] = say("{title}, with a key", title=_title(name))
        if engine_installed():
            weights = WEIGHTS[0]
            words = "{name} on this machine: {size} GB to download"
            choices[_DOWNLOAD] = say(words, name=weights.name, size=round(weights.size / 1e9, 1))
        demo = engine_installed() and shipped_weights() is not None
        words = "Decide later: a demo model answers until then" if demo else "Decide later: nothing answers until then"
        choices[_NOTHING] = say(words)
        return choices

    async def _provider(self, draft: Draft, provider: str) -> Draft | None:
        """The draft with a key that works; None if the question is given up."""
        say, title = self.say, _title(provider)
        while key := await self._prompts.secret(say("{title} key (Enter goes back):", title=title)):
            self._conceal((key,))
            found = await self._tried(draft.put_key(provider, key), provider)
            if found is not None:
                return found
        return None

    async def _tried(self, draft: Draft, provider: str) -> Draft | None:
        """The draft, if its key works; None asks for another one."""
        model = checks.tier_model(draft, provider)
        if model is None:
            model = await self._choose_model(draft, provider)
            if model is None:
                return None
            if not draft.models.has_model("balanced", Preferences()):
                draft = draft.put_pools(model)
        return await self._answering(draft, model)

    async def _answering(self, draft: Draft, model: str) -> Draft | None:
        """The draft, if the model answers or is to be kept anyway; None asks for another choice."""
        say, provider = self.say, provider_of(model)
        title, is_local = _title(provider), provider in OWN_MACHINE
        if is_local:
            self._show(say("Asking {model} for one word …", model=model))
        while (error := await checks.probe_model(draft, model)) is not None:
            if isinstance(error, KeyRejected):
                problem = checks.refused_key(title)
                self._show(f"✗ {say(problem)}")
                return None
            why = (error.raw or say(error.reason)).rstrip(".")
            self._show(say("✗ {model} does not answer: {why}.", model=model, why=why))
            other = say("Choose something else" if is_local else "Enter another key")
            choices = {"again": say("Try again"), "new": other, "keep": say("Use it anyway")}
            chosen = await self._prompts.choose(say("What next?"), choices)
            if chosen != "again":
                return draft if chosen == "keep" else None
        self._show(say("✓ {title}: {model} answers.", title=title, model=model))
        return draft

    async def _choose_model(self, draft: Draft, provider: str) -> str | None:
        """One of the models that the provider lists; None if it lists none with this key."""
        try:
            found = await checks.offered(draft, provider)
        except DiscoveryError as error:
            self._show(f"✗ {error}")
            return None
        if not found:
            self._show(self.say("✗ {title} lists no models for this key.", title=_title(provider)))
            return None
        question = self.say("Which of its models?")
        return await self._prompts.choose(question, {model: model.partition("/")[2] for model in found})

    async def _download(self, draft: Draft) -> Draft | None:
        """The draft with the downloaded model in the tiers; None if it can't be downloaded."""
        settings, weights = draft.environment.settings, WEIGHTS[0]
        base = draft.environment.variables.get("HF_ENDPOINT", HUB)
        folder = Workspace(draft.environment).models
        try:
            target = await fetch(weights, folder, base, lambda: client(settings.https_proxy), show_progress)
        except ConfigError as error:
            self._show(f"✗ {error}")
            return None
        self._show(self.say("✓ {name} is here.", name=weights.name))
        model = f"{LOCAL_PROVIDER}/{target.stem}"
        return await self._answering(draft.put_pools(model), model)


def _title(provider: str) -> str:
    return TITLES.get(provider, provider.capitalize())
