"""The two ways to run the bot: on the configured platforms, or in the terminal."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from getpass import getuser

from bot import keyless
from bot.adapters.console import CommandHint, ConsolePlatform, ConsoleUser, PromptOptions, Streams
from bot.adapters.shared.descriptor import Services
from bot.app import App, open_app
from bot.ops.systemd import pulse
from bot.platform import Platform
from bot.platforms import PLATFORMS
from bot.settings import Environment, Settings
from bot.workspace import Workspace
from handlers.access.roles import print_owner_code
from handlers.commands import COMMANDS
from handlers.notices.notices import Notices
from routing.errors import ConfigError
from routing.policy.models import Models
from routing.types.messages import UserKey
from routing.types.tiers import TIERS

NO_PLATFORM = (
    "No chat platform is configured: set {variables} in the environment or in {env}, or talk here with `make chat`."
)

log = logging.getLogger("bot")


async def run(environment: Environment, workspace: Workspace) -> int:
    """Run every platform that is switched on, until SIGTERM or SIGINT."""
    settings = environment.settings
    if not any(platform.configured(settings) for platform in PLATFORMS):
        variables = " or ".join(platform.enabled_by.upper() for platform in PLATFORMS)
        raise ConfigError(NO_PLATFORM.format(variables=variables, env=workspace.root / ".env"))
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with open_app(environment, workspace) as app:
        await app.start(platforms_of(settings, app))
        await _print_owner_code(app)
        beat = asyncio.create_task(pulse(list(app.platforms.values()), app.steady, settings.heartbeat_file))
        await ended.wait()
        log.info("Stopping: running turns may finish, everything else resumes after the next start")
        beat.cancel()
    return 0


async def chat(environment: Environment, workspace: Workspace, name: str | None) -> int:
    """Chat in the terminal or through a pipe. The person at the terminal is an owner."""
    async with open_app(environment, workspace) as app:
        user_name = name or getuser()
        user = UserKey("console", user_name)
        if await app.kept.people.find(user) is None:
            await app.kept.people.admit(user, user_name, "owner", "terminal")

        async def chosen() -> str:
            person = await app.kept.people.find(user)
            return person.language if person else ""

        platform = ConsolePlatform(
            ConsoleUser(user_name, app.clock, environment.language, chosen),
            app.accept,
            Streams(sys.stdin, sys.stdout, sys.stderr),
            PromptOptions(
                workspace.console_history,
                hints(app.engine.models),
                keyless.describe_keyless_model(app.engine.models) or "",
            ),
            app.inbox.no_replies.wait,
            app.steady,
        )
        app.engine.llm.load()
        await app.start([platform])
        return await platform.run()


def hints(models: Models) -> tuple[CommandHint, ...]:
    """Commands for completion at the prompt. /model completes callable models."""
    able = [card.name for card in models.catalog.models() if models.has_key(card.provider)]
    named = {"model": (TIERS, tuple(dict.fromkeys((*filter(None, [models.ollama]), *able))))}
    return tuple(CommandHint(spec.name, spec.summary, named.get(spec.name, spec.choices)) for spec in COMMANDS)


def platforms_of(settings: Settings, app: App) -> list[Platform]:
    """Build the platforms that are switched on."""
    services = Services(
        accept=app.accept,
        state=app.kept.state,
        chats=app.kept.chats,
        specs=COMMANDS,
        suggestions=app.suggestions,
        unanswered=app.inbox.no_replies.wait,
        tell=Notices(app.kept.people, app.outbox.post).tell_owners,
        clock=app.clock,
        steady=app.steady,
    )
    return [platform.build(settings, services) for platform in PLATFORMS if platform.configured(settings)]


async def _print_owner_code(app: App) -> None:
    code = await app.access.owner_code(app.platforms)
    if code is not None:
        print_owner_code(code)
