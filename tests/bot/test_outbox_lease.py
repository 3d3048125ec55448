"""A process that others may have replaced sends nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import cast

import pytest

from bot.outbox import OutboxSender
from bot.platform import Platform, Progress, Sent
from routing.types.lease import VALID_SECONDS, Lease
from routing.types.messages import ChatKey, OutboundMessage
from storage.database import open_database
from storage.database.migrate import migrate
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.polling import until

HOME = ChatKey("telegram", "1")


class Recorder:
    """A platform that records what is sent, in pieces that end with a line."""

    name = "telegram"
    max_file_bytes = 0

    def __init__(self) -> None:
        self.progress = Progress()
        self.sent: list[str] = []
        self.after_piece: Callable[[], object] = lambda: None

    async def send(self, message: OutboundMessage, *_given: object) -> AsyncIterator[Sent]:
        pieces = message.text.splitlines()
        for number, piece in enumerate(pieces, 1):
            self.sent.append(piece)
            self.after_piece()
            yield Sent("1", number == len(pieces))


@pytest.fixture
def stores(tmp_path: Path, clock: ManualClock) -> Stores:
    url = f"sqlite:///{tmp_path / 'tierbot.db'}"
    migrate(url, tmp_path)
    return open_stores(open_database(url), clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def tell(*_about: object) -> None:
    raise AssertionError("nothing failed")


async def test_a_reply_waits_for_the_next_heartbeat(stores: Stores, clock: ManualClock) -> None:
    platform, lease = Recorder(), Lease(clock)
    sender = OutboxSender(stores.outbox, {"telegram": cast(Platform, platform)}, tell, tell, clock, lease)
    lease.begin(1, lease.now())
    await sender.post([OutboundMessage(HOME, "one")])
    await until(lambda: platform.sent)
    clock.now += VALID_SECONDS
    await sender.post([OutboundMessage(HOME, "two")])
    while (await stores.outbox.unsent())[-1].state != "attempting":
        pass
    assert platform.sent == ["one"]
    lease.renew(clock.now)
    await until(lambda: len(platform.sent) == 2)
    clock.now += VALID_SECONDS
    await sender.post([OutboundMessage(HOME, "three")])
    await sender.abandon()
    assert (platform.sent, sender.chats) == (["one", "two"], 0)
    await sender.drain(5.0)
    await asyncio.wait_for(stores.database.close(), 60.0)


async def test_each_piece_waits_for_the_next_heartbeat(stores: Stores, clock: ManualClock) -> None:
    platform, lease = Recorder(), Lease(clock)
    platform.after_piece = lambda: setattr(clock, "now", clock.now + VALID_SECONDS)
    sender = OutboxSender(stores.outbox, {"telegram": cast(Platform, platform)}, tell, tell, clock, lease)
    lease.begin(1, lease.now())
    await sender.post([OutboundMessage(HOME, "one\ntwo")])
    while [(each.pieces_sent, each.state) for each in await stores.outbox.unsent()] != [(1, "attempting")]:
        pass
    await stores.outbox.unsent()
    assert platform.sent == ["one"]
    lease.renew(clock.now)
    await until(lambda: platform.sent == ["one", "two"])
    await sender.drain(5.0)
    await asyncio.wait_for(stores.database.close(), 60.0)
