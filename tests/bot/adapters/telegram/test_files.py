"""Downloading what people send."""

from __future__ import annotations

import pytest

from routing.errors import Refused
from routing.types.messages import Attachment
from tests.bot.adapters.telegram.harness import TelegramHarness
from tests.servers.telegram import TelegramServer


async def test_a_document_is_fetched(tg: TelegramServer, harness: TelegramHarness) -> None:
    inbound = await harness.received(tg.say_document("notes.md", b"# Notes", caption="read"))
    assert await harness.platform.fetch(inbound.attachments[0]) == b"# Notes"


@pytest.mark.parametrize("size", [0, 21 * 2**20])
async def test_too_large_a_file_is_refused(tg: TelegramServer, harness: TelegramHarness, size: int) -> None:
    inbound = await harness.received(tg.say_document("big.txt", b"x" * (20 * 2**20 + 1)))
    known = inbound.attachments[0]
    with pytest.raises(Refused, match="20 MB"):
        await harness.platform.fetch(Attachment("text", known.name, known.mime, size, known.ref))
    assert bool(tg.calls("getFile")) is (size == 0)


async def test_a_missing_or_unreachable_file_is_refused(tg: TelegramServer, harness: TelegramHarness) -> None:
    inbound = await harness.received(tg.say_photo(b"jpeg"))
    known = inbound.attachments[0]
    with pytest.raises(Refused, match="no longer"):
        await harness.platform.fetch(Attachment("image", "x.jpg", "image/jpeg", 0, "telegram:unknown"))
    tg.fault("getFile", "server_error")
    with pytest.raises(Refused, match="in a minute"):
        await harness.platform.fetch(known)
    tg.fault("getFile", "drop_before")
    with pytest.raises(Refused, match="in a minute"):
        await harness.platform.fetch(known)
