"""Downloading what people send."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routing.errors import Refused
from tests.bot.adapters.discord.harness import DiscordHarness
from tests.servers.discord import DiscordServer


def allow_expired_urls(dc: DiscordServer) -> None:
    """The loopback server takes expired URLs of Discord's CDN for API calls."""
    assert {violation.call for violation in dc.violations} == {"GET /attachments/old.png"}
    dc.violations.clear()


async def test_an_expired_file_url_is_refreshed(dc: DiscordServer, harness: DiscordHarness) -> None:
    message = dc.say("see", attachments=[("a.png", b"\x89png", "image/png")])
    [picture] = (await harness.received(message)).attachments
    assert await harness.platform.fetch(picture) == b"\x89png"
    assert dc.calls("GET", "/channels/{channel_id}/messages/{message_id}") == []
    place, _, _ = picture.ref.partition(" ")
    old = replace(picture, ref=f"{place} {dc.address}/attachments/old.png")
    assert await harness.platform.fetch(old) == b"\x89png"
    dc.delete(message)
    with pytest.raises(Refused, match=r"^Discord no longer has that file"):
        await harness.platform.fetch(old)
    allow_expired_urls(dc)


async def test_a_file_removed_from_its_message_is_gone(dc: DiscordServer, harness: DiscordHarness) -> None:
    message = dc.say("see", attachments=[("a.png", b"\x89png", "image/png")])
    [picture] = (await harness.received(message)).attachments
    gone = replace(picture, ref=f"discord:{message.channel.id}/{message.id}/1 {dc.address}/attachments/old.png")
    with pytest.raises(Refused, match=r"^Discord no longer has that file"):
        await harness.platform.fetch(gone)
    allow_expired_urls(dc)


async def test_a_file_may_be_too_large_or_unreachable(dc: DiscordServer, harness: DiscordHarness) -> None:
    [picture] = (await harness.received(dc.say("see", attachments=[("a.png", b"x", "image/png")]))).attachments
    with pytest.raises(Refused, match=r"up to 20 MB"):
        await harness.platform.fetch(replace(picture, size=20 * 2**20 + 1))
    async with dc.outage():
        with pytest.raises(Refused, match=r"couldn't get the file from Discord"):
            await harness.platform.fetch(picture)
