"""The questions about what answers: a provider's key, Ollama, or a model on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from bot.config.workspace import Workspace
from bot.ops.download import HUB, WEIGHTS, fetch, show_progress
from bot.ops.setup import checks
from bot.ops.setup.checks import title_of
from bot.ops.setup.draft import Draft
from bot.ops.setup.prompts import Prompts
from bot.ops.web import client
from handlers.languages import Say
from routing.catalog.discovery import PROVIDERS
from routing.catalog.ollama import RunningOllama
from routing.catalog.provider_models import DiscoveryError
from routing.config.runtime import variable
from routing.errors import ConfigError
from routing.llm.local.weights import engine_installed, shipped_weights
from routing.types.model_names import LOCAL_PROVIDER, OWN_MACHINE, provider_of
from routing.types.people import Preferences

_OLLAMA, _DOWNLOAD, _NOTHING = "ollama", "download", "nothing"
_MARKS = {"works": "✓ ", "unsure": "", "refused": "✗ ", "busy": "✗ ", "fails": "✗ "}


class ModelQuestions:
    """Each answer is checked by asking a model for one word."""

    def __init__(
        self, prompts: Prompts, say: Say, conceal: Callable[[Iterable[str]], None], show: Callable[[str], None]
    ) -> None:
        self._prompts = prompts
        self.say = say
        self._conceal = conceal
        self._show = show
        self._given: set[str] = set()
        """Providers whose key of the process environment was checked."""

    async def take(self, draft: Draft, bases: Mapping[str, str], from_shell: bool) -> Draft:
        """The draft with those of these addresses of providers that work; `from_shell`: also with the keys and
        OLLAMA_HOST of the process environment that work. Raises ConfigError for an address of the wrong form."""
        say, keys = self.say, checks.given_providers(draft) if from_shell else ()
        for provider in dict.fromkeys((*keys, *bases)):
            addressed = draft.put_provider(provider, bases[provider]) if provider in bases else draft
            tried = addressed.put_given_key(provider) if provider in keys else addressed
            verdict = await self._verdict(tried, provider, "", say("Leave it out"))
            if verdict == "works":
                draft = tried
                if provider in keys:
                    self._given.add(provider)
                continue
            draft = addressed if verdict == "refused" else draft  # the address answers
            if provider in keys:
                draft = draft.without(variable(provider))
                self._show(say("{name} is not saved.", name=variable(provider)))
        if from_shell:
            draft, ollama = await checks.with_given_ollama(draft)
            if ollama is not None:
                self._show(f"{_MARKS[ollama.verdict]}{say(ollama.words)}")
        return draft

    async def confirm(self, draft: Draft) -> Draft:
        """The draft whose model of the balanced tier answers, or with another choice."""
        if not draft.has_model:
            return await self.ask(draft)
        model = draft.models.configured("balanced", Preferences()).model
        if provider_of(model) in self._given:
            return draft
        return await self._answering(draft, model) or await self.ask(draft)

    async def ask(self, draft: Draft) -> Draft:
        """The draft with what answers from now on."""
        ollama = await checks.find_ollama(draft)
        best = ollama.best if ollama is not None else ""
        while True:
            choices = self._choices(draft, ollama)
            match await self._prompts.choose(self.say("Which model should answer?"), choices):
                case "nothing":
                    return draft
                case "ollama":
                    theirs = draft if draft.models.only_ollama() else draft.put_pools(best)
                    found = await self._answering(theirs, best)
                case "download":
                    found = await self._download(draft)
                case provider:
                    found = await self._provider(draft, provider)
            if found is not None:
                return found

    def _choices(self, draft: Draft, ollama: RunningOllama | None) -> dict[str, str]:
        say, choices = self.say, {}
        if ollama is not None:
            words = "Ollama on this machine: {model}"
            choices[_OLLAMA] = say(words, model=ollama.best.partition("/")[2])
        for name in PROVIDERS:
            choices[name] = say("{title}, with a key", title=title_of(name))
        if engine_installed():
            weights = WEIGHTS[0]
            words = "{name} on this machine: {size} GB to download"
            choices[_DOWNLOAD] = say(words, name=weights.name, size=round(weights.size / 1e9, 1))
        choices[_NOTHING] = self._later(draft, ollama)
        return choices

    def _later(self, draft: Draft, ollama: RunningOllama | None) -> str:
        """What it means to choose nothing now."""
        say, models = self.say, draft.models
        models.running = ollama if models.only_ollama() else None
        choice = models.configured("balanced", Preferences())
        if ollama is not None and choice.model == ollama.best:
            return say("Decide later: {model} answers until then", model=choice.model)
        if choice.source != "local":
            return say("Keep {model}", model=choice.model)
        demo = engine_installed() and shipped_weights() is not None
        words = "Decide later: a demo model answers until then" if demo else "Decide later: nothing answers until then"
        return say(words)

    async def _provider(self, draft: Draft, provider: str) -> Draft | None:
        """The draft with a key that works; None if the question is given up."""
        if provider in self._given and (found := await self._tried(draft, provider)) is not None:
            return found
        while key := await self._prompts.secret(self.say("{title} key (Enter goes back):", title=title_of(provider))):
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
        provider = provider_of(model)
        other = self.say("Choose something else" if provider in OWN_MACHINE else "Enter another key")
        return draft if await self._verdict(draft, provider, model, other) == "works" else None

    async def _verdict(
        self, draft: Draft, provider: str, model: str, other: str
    ) -> Literal["works", "refused", "fails"]:
        """Check the provider as often as the owner wants. "works" also means that the owner keeps it anyway. `other`
        names the choice to give it up."""
        say = self.say
        if provider in OWN_MACHINE and model:
            self._show(say("Asking {model} for one word …", model=model))
        while True:
            checked = await checks.check_provider(draft, provider, model)
            self._show(f"{_MARKS[checked.verdict]}{say(checked.words)}")
            if checked.verdict == "refused":
                return "refused"
            if checked.verdict in ("works", "unsure"):
                return "works"
            choices = {"again": say("Try again"), "new": other, "keep": say("Use it anyway")}
            chosen = await self._prompts.choose(say("What next?"), choices)
            if chosen != "again":
                return "works" if chosen == "keep" else "fails"

    async def _choose_model(self, draft: Draft, provider: str) -> str | None:
        """One of the models that the provider lists; None if it lists none with this key."""
        try:
            found = await checks.offered(draft, provider)
        except DiscoveryError as error:
            self._show(f"✗ {error}")
            return None
        if not found:
            self._show(self.say("✗ {title} lists no models for this key.", title=title_of(provider)))
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
