"""The dialogue of `tierbot setup`: asks as little as possible and checks each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bot.adapters.shared.descriptor import BotAccount, PlatformDescriptor
from bot.adapters.shared.doctor import PlatformSilent
from bot.config.environment import Environment
from bot.config.workspace import Workspace
from bot.ops.setup import checks
from bot.ops.setup.admin_port import free_admin_port
from bot.ops.setup.draft import POOLS_AND_OWNERS, Draft, saved_lines
from bot.ops.setup.models import ModelQuestions
from bot.ops.setup.prompts import Prompts
from bot.platforms import PLATFORMS
from handlers.languages import Say
from routing.config.runtime import parse_pool, variable
from routing.errors import ConfigError
from routing.redaction import hint
from routing.types.people import Preferences
from routing.types.tiers import TIERS

Conceal = Callable[[Iterable[str]], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to do after everything is saved: start the bot here, and install it as a service afterwards. `accounts` are
    the bots by platform, as far as their tokens were checked."""

    environment: Environment
    start: bool
    service: bool
    accounts: Mapping[str, BotAccount]


class Wizard:
    """Asks for what is missing at first, and later for what to change. `conceal` hides typed secrets from logs;
    `service` tells whether a service can be installed here."""

    def __init__(
        self,
        draft: Draft,
        prompts: Prompts,
        say: Say,
        conceal: Conceal,
        service: bool,
        show: Callable[[str], None],
    ) -> None:
        self._draft = draft
        self._prompts = prompts
        self.say = say
        self._conceal = conceal
        self._service = service
        self._show = show
        self._models = ModelQuestions(prompts, say, conceal, show)
        self._accounts: dict[str, BotAccount] = {}
        self.saved = False
        """Whether anything was written."""

    async def run(self, bases: Mapping[str, str]) -> Outcome:
        """Ask until everything is saved; `bases` are addresses of providers. Raises ConfigError if it can't be."""
        folder, draft = self._draft.saved.settings.workspace, self._draft
        given = {platform: draft.given(platform.enabled_by.upper()) for platform in PLATFORMS}
        in_files = draft.without(*(platform.enabled_by.upper() for platform in PLATFORMS)).environment.settings
        if any(platform.configured(in_files) for platform in PLATFORMS):
            self._draft = await self._models.take(draft, bases, from_shell=False)
            return await self._change()
        self._show(self.say("Setting up the bot in {folder}. Ctrl-C stops without saving anything.", folder=folder))
        self._draft = await self._models.take(draft.put_given(*POOLS_AND_OWNERS), bases, from_shell=True)
        for platform, token in given.items():
            if token and await self._accepts(platform, token):
                continue
            self._draft = self._draft.without(platform.enabled_by.upper())
            await self._token(platform)
        return await self._finish_first()

    async def _finish_first(self) -> Outcome:
        say = self.say
        self._draft = await self._models.confirm(self._draft)
        self._draft = await free_admin_port(self._draft, self._prompts, say, self._show)
        if not any(platform.configured(self._draft.environment.settings) for platform in PLATFORMS):
            self._save()
            self._show(say("Without a token, the bot answers in the terminal only: tierbot chat"))
            return self._outcome(start=False)
        service = self._service and await self._yes(
            say("Install it as a service, so that it starts with this machine?")
        )
        self._save()
        return self._outcome(start=True, service=service)

    async def _change(self) -> Outcome:
        """Show what is set, and change one thing after another until the owner is done."""
        say = self.say
        while True:
            self._show(say("What is set in {folder}:", folder=self._draft.saved.settings.workspace))
            for line in self._state():
                self._show(f"  {line}")
            choices = {platform.name: say("Change {title}", title=platform.title) for platform in PLATFORMS}
            choices |= {"models": say("Change the models"), "owners": say("Change the owners")}
            if not Workspace(self._draft.saved).in_use():
                choices["start"] = say("Start the bot and write to it")
            if self._service:
                choices["service"] = say("Install it as a service")
            chosen = await self._prompts.choose(say("What next?"), {"done": say("Done"), **choices})
            if chosen in ("done", "start", "service"):
                self._save()  # what the flags gave
                return await self._done(chosen)
            await self._change_one(chosen)
            self._draft = await free_admin_port(self._draft, self._prompts, say, self._show)
            self._save()

    async def _done(self, chosen: str) -> Outcome:
        if chosen == "start":  # its links need the names of the bots
            for platform in PLATFORMS:
                if token := platform.token(self._draft.environment.settings):
                    await self._account(platform, token)
        return self._outcome(start=chosen == "start", service=chosen == "service")

    def _outcome(self, start: bool, service: bool = False) -> Outcome:
        return Outcome(self._draft.saved, start, service, self._accounts)

    async def _change_one(self, chosen: str) -> None:
        if chosen == "models":
            self._draft = await self._models.ask(self._draft)
        elif chosen == "owners":
            await self._owners()
        else:
            await self._token(next(platform for platform in PLATFORMS if platform.name == chosen))

    def _state(self) -> list[str]:
        """What is set, without the secrets."""
        say, environment, models = self.say, self._draft.environment, self._draft.models
        settings, lines = environment.settings, []
        for platform in PLATFORMS:
            token = platform.token(settings)
            shown = self._hint(platform.enabled_by.upper(), token) if token else say("off")
            lines.append(f"{platform.title}: {shown}")
        keys = [f"{name} {self._hint(variable(name), key)}" for name, key in sorted(environment.keys.items())]
        lines.append(say("Keys: {keys}", keys=", ".join(keys) or say("none")))
        answering = dict.fromkeys(models.configured(tier, Preferences()).model for tier in TIERS)
        lines.append(say("Models: {models}", models=", ".join(answering)))
        owners = settings.bot_owners or say("none set here; the owner code makes one")
        lines.append(say("Owners: {owners}", owners=owners))
        return lines

    def _hint(self, name: str, secret: str) -> str:
        """The end of a secret, and whether it comes from the process environment."""
        return f"{hint(secret)} {self.say('(from this shell)')}" if self._draft.given(name) else hint(secret)

    async def _token(self, platform: PlatformDescriptor) -> None:
        """Ask for a token until it is accepted or left out."""
        say, title = self.say, platform.title
        is_set = platform.configured(self._draft.environment.settings)
        if is_set and not await self._keeps_platform(platform):
            self._draft = self._draft.put_token(platform, None)
            return
        self._show(f"\n{say(platform.steps)}")
        kept = "{title} token (Enter keeps the present one):"
        question = say(kept if is_set else "{title} token (Enter leaves {title} out):", title=title)
        while token := await self._prompts.secret(question):
            self._conceal((token,))
            if await self._accepts(platform, token):
                return

    async def _accepts(self, platform: PlatformDescriptor, token: str) -> bool:
        """Check a token. If it works, put it and the owner of its bot into the draft."""
        account = await self._account(platform, token)
        if account is None:
            return False
        self._draft = self._draft.put_token(platform, token)
        if account.owner is not None:
            self._draft = self._draft.add_owners(account.owner)
            words = "✓ {title}: the bot belongs to {name}, who is an owner now."
            self._show(self.say(words, title=platform.title, name=account.owner_name))
        return True

    async def _account(self, platform: PlatformDescriptor, token: str) -> BotAccount | None:
        """Whose token it is, and what the bot lacks; None if it does not work."""
        account = await self._identified(platform, token)
        if account is None:
            return None
        self._show(self.say("✓ {title}: the token belongs to {name}.", title=platform.title, name=account.name))
        account = self._accounts[platform.name] = await self._complete(platform, token, account)
        return account

    async def _keeps_platform(self, platform: PlatformDescriptor) -> bool:
        choices = {"new": self.say("Enter a new token"), "off": self.say("Turn {title} off", title=platform.title)}
        return await self._prompts.choose(platform.title, choices) == "new"

    async def _identified(self, platform: PlatformDescriptor, token: str) -> BotAccount | None:
        """The bot of a token; None if the token is refused or the platform can't be reached."""
        say = self.say
        while True:
            try:
                return await checks.identify(self._draft, platform, token)
            except ConfigError as error:
                self._show(f"✗ {say(error.reason)}")
                return None
            except PlatformSilent as error:
                words = "✗ {title} can't be reached ({why}). Check the internet connection."
                self._show(say(words, title=platform.title, why=error.args[0]))
                if not await self._yes(say("Try again?")):
                    return None

    async def _complete(self, platform: PlatformDescriptor, token: str, account: BotAccount) -> BotAccount:
        """The bot after the owner has changed what it lacks, or decided to leave it so."""
        say = self.say
        while account.lacks:
            self._show(f"✗ {say(account.lacks)}")
            if not await self._yes(say("Check again?")):
                return account
            account = await self._identified(platform, token) or account
            if not account.lacks:
                self._show(say("✓ {title}: everything is on now.", title=platform.title))
        return account

    async def _owners(self) -> None:
        say, current = self.say, self._draft.environment.settings.bot_owners
        while True:
            typed = await self._prompts.text(say("Owners, such as telegram:123,discord:456:"), current)
            try:
                self._draft = self._draft.put_owners(parse_pool(typed))
                return
            except ConfigError as error:
                self._show(f"✗ {say(error.reason)}")

    async def _yes(self, question: str) -> bool:
        """Enter says yes."""
        choices = {"yes": self.say("Yes"), "no": self.say("No")}
        return await self._prompts.choose(question, choices) == "yes"

    def _save(self) -> None:
        """Write the files; the draft starts again from what they contain."""
        draft = self._draft
        if not draft.changed:
            return
        for line in saved_lines(draft, draft.save(), self.say):
            self._show(line)
        self._draft, self.saved = draft.reread(), True
