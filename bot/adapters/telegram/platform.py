"""The Telegram platform: connects, receives by polling or webhook, sends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Protocol

from telegram import User
from telegram.error import InvalidToken, TelegramError

from bot.adapters.telegram import files, flood, menu
from bot.adapters.telegram.api import Api
from bot.adapters.telegram.inbound import PLATFORM, Me
from bot.adapters.telegram.live import TelegramLive
from bot.adapters.telegram.options import OFFICIAL_ROOT, TelegramOptions
from bot.adapters.telegram.outbound import Outbound
from bot.adapters.telegram.polling import Poller, Take
from bot.adapters.telegram.receiving import Receiver
from bot.adapters.telegram.stage import Stage
from bot.adapters.telegram.trouble import Trouble
from bot.platform import Accept, KeepPlaceholder, MenuEntry, Progress, Sent
from bot.rendering.telegram import pieces
from routing.errors import ConfigError
from routing.ports import ChatStore, Clock, LiveReply, StateStore
from routing.types.messages import Attachment, InboundMessage, OutboundMessage

log = logging.getLogger(__name__)
_FIRST_TRY = 3.0  # seconds that start() waits to learn whether the token is good
_GRACE = 1.0  # seconds that close() leaves to acknowledgements on their way
_EYES = [{"type": "emoji", "emoji": "👀"}]


class Source(Protocol):
    """Where updates come from: polling or a webhook."""

    renewals: int

    async def greet(self) -> None:
        """Tell Telegram how updates are to come. Raises TelegramError or ConfigError."""

    def start(self, take: Take) -> None: ...
    async def stop(self) -> None: ...


class TelegramPlatform:
    """See bot.platform.Platform. Raises ConfigError for options that cannot work."""

    name = PLATFORM

    def __init__(
        self,
        options: TelegramOptions,
        *,
        accept: Accept,
        state: StateStore,
        chats: ChatStore,
        menu: tuple[MenuEntry, ...],
        clock: Clock,
        steady: Clock | None = None,
    ) -> None:
        self.progress = Progress()
        self.me: Me | None = None
        self._options = options
        self._accept = accept
        self._state = state
        self._chats = chats
        self._menu = menu
        self._clock = clock
        self._steady = steady or clock
        self._api = Api(options)
        self._stage = Stage(self._api, flood.Flood(flood.parse(options.flood_limit)), options.pace)
        self._outbound = Outbound(self._stage, chats)
        self._connecting: asyncio.Task[None] | None = None
        self._source = self._make_source()

    async def start(self) -> None:
        """Connect; returns once the first update may come, or when that takes longer, while connecting goes on."""
        self.progress.up_since = self._steady()
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._connecting = asyncio.create_task(self._connect(first))
        either: set[asyncio.Future[None]] = {first, self._connecting}
        await asyncio.wait(either, timeout=_FIRST_TRY, return_when=asyncio.FIRST_COMPLETED)
        if first.done():
            first.result()
        elif self._connecting.done():
            self._connecting.result()

    async def stop_receiving(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait({self._connecting})
        await self._source.stop()

    async def close(self) -> None:
        await self.stop_receiving()
        await self._stage.background.close(_GRACE)
        await self._api.hang_up()

    def send(self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool) -> AsyncIterator[Sent]:
        return self._outbound.send(message, outbox_id, first_piece, recovered)

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        return TelegramLive(self._stage, message, placeholder, streaming, keep)

    async def waiting(self, message: InboundMessage) -> None:
        where = {"chat_id": message.chat.chat_id, "message_id": message.message_id}
        await self._stage.courtesy(message.chat.chat_id, "setMessageReaction", where | {"reaction": _EYES})

    async def fetch(self, attachment: Attachment) -> bytes:
        return await files.fetch(self._api, attachment)

    @property
    def reconnects(self) -> int:
        """How often the watchdog replaced dead polling connections."""
        return self._source.renewals

    def _make_source(self) -> Source:
        options = self._options
        if not options.webhook_url:
            return Poller(self._api, self.progress, self._steady, options.pace)
        from bot.adapters.telegram.webhook import Webhook  # brings a web server along that polling does not need

        return Webhook(options, self._api, self.progress, self._steady)

    async def _connect(self, first: asyncio.Future[None]) -> None:
        """Greet until Telegram answers, then receive. `first` learns how the first try went."""
        trouble = Trouble(self.progress, self._options.pace)
        try:
            while (user := await self._greet(trouble, first)) is None:
                pass
            self.progress.last_step = self._steady()
        except ConfigError as error:
            self.progress.trouble = str(error)
            if first.done():
                log.error("Telegram: %s", error)
            else:
                first.set_exception(error)
            return
        trouble.over()
        self.me = Me(user.id, user.username or "")
        receiver = Receiver(self.me, self._accept, self._chats, self.progress, self._clock, self._steady)
        self._source.start(receiver.take)
        log.info("Telegram: @%s, %s", self.me.username, "by webhook" if self._options.webhook_url else "polling")
        if not first.done():
            first.set_result(None)
        self._stage.background.spawn(self._settle(user.id))

    async def _settle(self, bot_id: int) -> None:
        """What can wait: importing the Markdown converter (0.1 s), lest the first answer waits for it, and the menu."""
        await asyncio.to_thread(pieces, "**warm**")
        await menu.sync(self._api, bot_id, self._menu, self._state)

    async def _greet(self, trouble: Trouble, first: asyncio.Future[None]) -> User | None:
        """Who the bot is, with the way of receiving prepared; None after a failure and the pause it asks for."""
        try:
            user, _ = await asyncio.gather(self._api.get_me(), self._source.greet())
        except InvalidToken:
            if not first.done():
                raise ConfigError(_refused(self._options.api_root)) from None
            self.progress.last_step = self._steady()
            await asyncio.sleep(trouble.with_call(InvalidToken()))
        except TelegramError as error:
            self.progress.last_step = self._steady()
            pause = trouble.with_call(error)
            if not first.done():
                first.set_result(None)
            await asyncio.sleep(pause)
        else:
            return user
        return None


def _refused(api_root: str) -> str:
    own = "" if api_root == OFFICIAL_ROOT else f", and see that TELEGRAM_API_ROOT ({api_root}) is right"
    return f"Telegram refuses TELEGRAM_BOT_TOKEN; copy the token again from @BotFather{own}."
