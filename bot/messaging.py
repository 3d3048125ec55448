"""Receives and sends messages: the storage, the platforms and the outbox, which start before the rest of the bot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from bot.adapters.shared.descriptor import Commands, Services
from bot.outbox import OutboxSender
from bot.platform import Accept, Platform
from handlers.metrics import CountingLedger, Metrics
from handlers.notices.notices import Notices
from routing.errors import ConfigError, Reason
from routing.ports import ClaimStore, Clock
from routing.types.lease import Lease
from routing.types.messages import InboundMessage
from storage.database import is_sqlite, open_database, parse_url
from storage.stores import open_stores

log = logging.getLogger("bot.messaging")


class Messaging:
    """Waits and deadlines use `steady`.

    The platforms connect and receive while `bot.app` is imported and built. Until it takes messages, those received
    wait, and are not acknowledged. `refused` are the errors of platforms that can't work.
    """

    def __init__(self, database: str, outgoing: Path, clock: Clock, steady: Clock) -> None:
        """`outgoing` is the folder for files that wait to be sent."""
        self.clock, self.steady = clock, steady
        self.metrics = Metrics()
        opened = open_database(database)
        self.lease: Lease | None = None
        self.claims: ClaimStore | None = None
        """Without these, only this process uses the database."""
        if not is_sqlite(parse_url(database)):
            from storage.claims import open_claims

            self.lease = Lease()
            self.claims = open_claims(opened, self.lease)
        stores = open_stores(opened, clock, steady, lambda chat: self.outbox.sends_at_once(chat), outgoing, self.lease)
        self.stores = replace(stores, ledger=CountingLedger(stores.ledger, self.metrics))
        self.platforms: dict[str, Platform] = {}
        self.refused: list[Reason] = []
        self.outbox = OutboxSender(
            self.stores.outbox,
            self.platforms,
            lambda chat, why: self.notices.undeliverable(chat, why),
            lambda message: self.notices.unconfirmed(message),
            clock,
            self.lease,
        )
        self.notices = Notices(self.stores.people, self.outbox.post, self.outbox.take)
        self._bot: asyncio.Future[tuple[Accept, Commands]] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnect the platforms and close the database."""
        self.refuse()
        await asyncio.gather(*(platform.close() for platform in self.platforms.values()))
        await self.stores.database.close()

    def services(self) -> Services:
        """What the platforms need of the bot."""
        return Services(
            accept=self._accept,
            state=self.stores.state,
            chats=self.stores.chats,
            commands=self._commands,
            unanswered=self.outbox.no_replies.wait,
            tell=self.tell,
            clock=self.clock,
            steady=self.steady,
            may_show=lambda: self.lease is None or self.lease.valid,
        )

    async def connect(self, platforms: Sequence[Platform]) -> None:
        """Start the platforms. Raises ConfigError if none can work."""
        self.platforms.update({platform.name: platform for platform in platforms})
        results = await asyncio.gather(*(platform.start() for platform in platforms), return_exceptions=True)
        failed = {at: result for at, result in enumerate(results) if isinstance(result, BaseException)}
        for at, error in failed.items():
            if not isinstance(error, ConfigError) or len(failed) == len(platforms):
                raise error
            log.error("%s", error)
            del self.platforms[platforms[at].name]  # its replies stay in the outbox
            await platforms[at].close()
            self.refused.append(error.reason)

    def begin(self, accept: Accept, commands: Commands) -> None:
        """From now on, messages are accepted."""
        self._bot.set_result((accept, commands))

    def refuse(self) -> None:
        """Messages that still wait for `begin` are not accepted."""
        self._bot.cancel()

    async def _accept(self, messages: Sequence[InboundMessage]) -> None:
        accept, _ = await asyncio.shield(self._bot)
        await accept(messages)

    async def _commands(self) -> Commands:
        _, commands = await asyncio.shield(self._bot)
        return commands

    async def tell(self, template: str, /, **values: object) -> None:
        """Send a sentence to the owners, in their language."""
        await asyncio.shield(self._bot)  # until then, BOT_OWNERS may not be applied
        await self.notices.tell_owners(template, **values)
