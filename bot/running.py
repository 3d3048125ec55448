"""The two ways the bot runs: on the configured platforms, or in the terminal."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import sys
from getpass import getuser

from bot import keyless
from bot.adapters.console import CommandHint, ConsolePlatform
from bot.app import App, assembled, menu
from bot.ops.systemd import pulse
from bot.platform import Platform
from bot.settings import Environment, Settings
from bot.workspace import Workspace
from handlers.access import print_owner_code
from handlers.commands import COMMANDS
from handlers.notices import Notices
from routing.errors import ConfigError
from routing.policy.models import Models
from routing.types.messages import UserKey
from routing.types.tiers import TIERS

NO_PLATFORM = (
    "No chat platform is configured: set TELEGRAM_BOT_TOKEN or DISCORD_BOT_TOKEN in the environment or in {env}, "
    "or talk here with `make chat`."
)

log = logging.getLogger("bot")


async def run(environment: Environment, workspace: Workspace) -> int:
    """Serve every platform whose token is set, until SIGTERM or SIGINT."""
    told = environment.settings
    if told.telegram_bot_token is None and told.discord_bot_token is None:
        raise ConfigError(NO_PLATFORM.format(env=workspace.root / ".env"))
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with assembled(environment, workspace) as app:
        await app.start(platforms_of(told, app))
        await _print_owner_code(app)
        beat = asyncio.create_task(pulse(list(app.platforms.values()), app.steady, told.heartbeat_file))
        await ended.wait()
        log.info("Stopping: running turns may finish, everything else resumes after the next start")
        beat.cancel()
    return 0


async def chat(environment: Environment, workspace: Workspace, name: str | None) -> int:
    """Talk in the terminal, or from a pipe. Whoever has the terminal is an owner."""
    async with assembled(environment, workspace) as app:
        user_name = name or getuser()
        user = UserKey("console", user_name)
        if await app.kept.people.find(user) is None:
            await app.kept.people.admit(user, user_name, "owner", "terminal")
        platform = ConsolePlatform(
            user_name=user_name,
            accept=app.accept,
            commands=hints(app.engine.models),
            history_file=workspace.console_history,
            clock=app.clock,
            steady=app.steady,
            stdin=sys.stdin,
            stdout=sys.stdout,
            stderr=sys.stderr,
            unanswered=app.silences.wait,
            notice=keyless.sentence(app.engine.models) or "",
        )
        app.engine.llm.load()
        await app.start([platform])
        return await platform.run()


def hints(models: Models) -> tuple[CommandHint, ...]:
    """The commands as the prompt completes them; /model also knows the models that can be called."""
    able = [card.name for card in models.catalog.models() if models.has_key(card.provider)]
    named = {"model": (TIERS, tuple(dict.fromkeys((*filter(None, [models.ollama]), *able))))}
    return tuple(CommandHint(spec.name, spec.summary, named.get(spec.name, spec.choices)) for spec in COMMANDS)


def platforms_of(settings: Settings, app: App) -> list[Platform]:
    """One line a platform."""
    platforms: list[Platform] = []
    if settings.telegram_bot_token is not None:
        platforms.append(_telegram(settings.telegram_bot_token.get_secret_value(), settings, app))
    if settings.discord_bot_token is not None:
        platforms.append(_discord(settings.discord_bot_token.get_secret_value(), settings, app))
    return platforms


def _telegram(token: str, settings: Settings, app: App) -> Platform:
    from bot.adapters.telegram import TelegramOptions, TelegramPlatform

    secret = settings.telegram_webhook_secret
    options = TelegramOptions(
        token=token,
        api_root=settings.telegram_api_root,
        proxy=settings.telegram_proxy or settings.https_proxy,
        flood_limit=settings.telegram_flood_limit,
        webhook_url=settings.telegram_webhook_url,
        webhook_listen=settings.telegram_webhook_listen,
        webhook_secret=secret.get_secret_value() if secret else secrets.token_urlsafe(32),
    )
    kept = app.kept
    return TelegramPlatform(
        options, accept=app.accept, state=kept.state, chats=kept.chats, menu=menu(), clock=app.clock, steady=app.steady
    )


def _discord(token: str, settings: Settings, app: App) -> Platform:
    from bot.adapters.discord import DiscordOptions, DiscordPlatform

    options = DiscordOptions(
        token=token,
        api_root=settings.discord_api_root,
        gateway_url=settings.discord_gateway_url,
        proxy=settings.discord_proxy or settings.https_proxy,
        sharded=settings.discord_sharded,
        thread_per_mention=settings.discord_threads,
    )
    return DiscordPlatform(
        options,
        accept=app.accept,
        state=app.kept.state,
        chats=app.kept.chats,
        specs=COMMANDS,
        suggestions=app.suggestions,
        unanswered=app.silences.wait,
        tell=Notices(app.kept.people, app.outbox.post).tell_owners,
        clock=app.clock,
        steady=app.steady,
    )


async def _print_owner_code(app: App) -> None:
    code = await app.access.owner_code(app.platforms)
    if code is not None:
        print_owner_code(code)
