"""The Telegram platform: connects, receives by polling or webhook, sends, sets the command menu."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from telegram import BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats, User
from telegram.error import InvalidToken, TelegramError

from bot.adapters.shared.connection import FirstAttempt
from bot.adapters.shared.descriptor import Services
from bot.adapters.shared.registration import register_if_changed
from bot.adapters.telegram import files
from bot.adapters.telegram.api import Api
from bot.adapters.telegram.context import ClientContext
from bot.adapters.telegram.flood import RateLimiter, parse
from bot.adapters.telegram.live import TelegramLive
from bot.adapters.telegram.messages import PLATFORM, BotIdentity
from bot.adapters.telegram.outbound import Outbound
from bot.adapters.telegram.parts import MAX_FILE_BYTES
from bot.adapters.telegram.receiving import Poller, Receiver, Take, TelegramBackoff
from bot.adapters.telegram.settings import OFFICIAL_ROOT, Pace, TelegramSettings
from bot.platform import KeepPlaceholder, Progress, Sent
from bot.rendering.telegram import pieces
from handlers.context import CommandSpec
from handlers.languages import Say, languages
from routing.errors import ConfigError, Reason
from routing.ports import LiveReply
from routing.types.messages import Attachment, InboundMessage, OutboundMessage

log = logging.getLogger(__name__)
MENU_KEY = "telegram_menu"
MAX_COMMANDS = 100
MAX_SUMMARY_CHARACTERS = 256
_DEFAULT_LANGUAGE = "en"
_SCOPES = (BotCommandScopeAllPrivateChats(), BotCommandScopeAllGroupChats())
_GRACE = 1.0  # seconds that close() gives to pending acknowledgements
_SEEN_EMOJI = [{"type": "emoji", "emoji": "👀"}]


class UpdateSource(Protocol):
    """Where updates come from: polling or a webhook."""

    async def announce(self) -> None:
        """Tell Telegram how to deliver updates. Raises TelegramError or ConfigError."""

    def start(self, take: Take) -> None: ...
    async def stop(self) -> None: ...


class TelegramPlatform:
    """See bot.platform.Platform. Raises ConfigError for invalid settings."""

    name = PLATFORM
    max_file_bytes = MAX_FILE_BYTES

    def __init__(self, settings: TelegramSettings, services: Services, pace: Pace) -> None:
        settings.check_telegram()
        self.progress = Progress()
        self.me: BotIdentity | None = None
        self._settings = settings
        self._pace = pace
        self._services = services
        self._steady = services.steady
        self._api = Api(settings, pace)
        self._context = ClientContext(
            self._api, RateLimiter(parse(settings.telegram_flood_limit)), pace, services.may_show
        )
        self._outbound = Outbound(self._context, services.chats)
        self._connecting: asyncio.Task[None] | None = None
        self._first = FirstAttempt()
        self._source = self._make_source()

    async def start(self) -> None:
        """Return once updates can arrive, or after a few seconds while connecting continues."""
        self.progress.up_since = self._steady()
        self._connecting = asyncio.create_task(self._connect())
        await self._first.wait(self._connecting)

    async def stop_receiving(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait({self._connecting})
        await self._source.stop()

    async def close(self) -> None:
        await self.stop_receiving()
        await self._context.background.close(_GRACE)
        await self._api.disconnect()

    def send(self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool) -> AsyncIterator[Sent]:
        return self._outbound.send(message, outbox_id, first_piece, recovered)

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        return TelegramLive(self._context, message, placeholder, streaming, keep)

    async def waiting(self, message: InboundMessage) -> None:
        where = {"chat_id": message.chat.chat_id, "message_id": message.message_id}
        await self._context.best_effort(message.chat.chat_id, "setMessageReaction", where | {"reaction": _SEEN_EMOJI})

    async def fetch(self, attachment: Attachment) -> bytes:
        return await files.fetch(self._api, attachment)

    def _make_source(self) -> UpdateSource:
        if not self._settings.telegram_webhook_url:
            return Poller(self._api, self.progress, self._steady, self._pace)
        from bot.adapters.telegram.webhook import Webhook  # imports a web server, which polling does not need

        return Webhook(self._settings, self._pace, self._api, self.progress, self._steady)

    async def _connect(self) -> None:
        """Greet until Telegram answers, then receive."""
        backoff = TelegramBackoff(self.progress, self._pace)
        try:
            while (user := await self._announce(backoff)) is None:
                pass
            self.progress.last_step = self._steady()
        except ConfigError as error:
            self.progress.problem = error.reason
            if not self._first.pending:
                log.error("Telegram: %s", error)
            self._first.end(error)
            return
        backoff.recovered()
        self.me = BotIdentity(user.id, user.username or "")
        receiver = Receiver(self.me, self._services, self.progress)
        self._source.start(receiver.take)
        log.info(
            "Telegram: @%s, %s", self.me.username, "by webhook" if self._settings.telegram_webhook_url else "polling"
        )
        self._first.end()
        self._context.background.spawn(self._settle(user.id))

    async def _settle(self, bot_id: int) -> None:
        """Import the Markdown converter (0.1 s) before the first answer needs it, and set the command menu."""
        await asyncio.to_thread(pieces, "**warm**")
        specs = (await self._services.commands()).specs
        menus = {language: _commands(specs, Say(language)) for language in languages() if len(language) == 2}
        try:
            await register_if_changed(self._services.state, MENU_KEY, [bot_id, menus], lambda: self._set_menus(menus))
        except TelegramError as error:
            log.warning("the command menu could not be set (%s); the next start tries again", error)

    async def _set_menus(self, menus: Mapping[str, list[tuple[str, str]]]) -> None:
        for language, commands in menus.items():
            code = None if language == _DEFAULT_LANGUAGE else language
            for scope in _SCOPES:
                await self._api.set_my_commands(commands, scope=scope, language_code=code)

    async def _announce(self, backoff: TelegramBackoff) -> User | None:
        """The bot's account, once updates can be received; None after a failure and its pause."""
        try:
            user, _ = await asyncio.gather(self._api.get_me(), self._source.announce())
        except InvalidToken:
            if self._first.pending:
                raise ConfigError(_refused(self._settings.telegram_api_root)) from None
            self.progress.last_step = self._steady()
            await asyncio.sleep(backoff.call_failed(InvalidToken()))
        except TelegramError as error:
            self.progress.last_step = self._steady()
            pause = backoff.call_failed(error)
            self._first.end()
            await asyncio.sleep(pause)
        else:
            return user
        return None


def _refused(api_root: str) -> Reason:
    if api_root == OFFICIAL_ROOT:
        return Reason("Telegram refuses TELEGRAM_BOT_TOKEN; copy the token again from @BotFather.")
    return Reason(
        "Telegram refuses TELEGRAM_BOT_TOKEN; copy the token again from @BotFather, and check TELEGRAM_API_ROOT "
        "({root}).",
        root=api_root,
    )


def _commands(specs: Sequence[CommandSpec], say: Say) -> list[tuple[str, str]]:
    return [(spec.name, say(spec.summary)[:MAX_SUMMARY_CHARACTERS]) for spec in specs[:MAX_COMMANDS]]
