"""What each failure tells the outbox. Interaction tokens never appear."""

from __future__ import annotations

import aiohttp
import pytest

from bot.platform import SendLater, SendRefused
from routing.types.messages import ChatKey, OutboundMessage
from tests.bot.adapters.discord.client import Sender, connected_client, to
from tests.bot.adapters.discord.harness import DiscordHarness, running_platform
from tests.bot.adapters.harness import answered_or_late
from tests.servers.discord import DiscordServer
from tests.servers.discord.faults import Kind

POST = "POST /channels/*/messages"


@pytest.mark.parametrize(
    ("kind", "maybe_sent", "seconds"),
    [
        ("hang", True, None),
        ("hang_after", True, None),
        ("drop", True, None),
        ("drop_after", True, None),
        ("server_error", False, None),
        ("rate_limit", False, 45),
        ("cloudflare", False, 60),
    ],
)
async def test_what_a_failed_send_tells_the_outbox(kind: Kind, maybe_sent: bool, seconds: float | None) -> None:
    async with connected_client() as sender:
        fault = sender.dc.fault(POST, kind, retry_after=45, seconds=3600, status=503)
        with pytest.raises(SendLater) as caught:
            await answered_or_late(sender.dc, fault, sender.send(to(sender.dc.dm(), "hello")))
        assert (caught.value.maybe_sent, caught.value.seconds) == (maybe_sent, seconds)
        assert caught.value.protected == maybe_sent, "the nonce"


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, 50013, "can't write in that channel"),
        (403, 50001, "can't see that channel"),
        (403, 50007, "doesn't accept direct messages"),
        (404, 10003, "the channel is gone"),
        (400, 50035, "Discord's own words"),
        (403, 20001, "Discord's own words"),
    ],
)
async def test_a_refusal_says_what_to_fix(
    dc: DiscordServer, sender: Sender, status: int, code: int, words: str
) -> None:
    dc.fault(POST, "refuse", status=status, code=code, text="Discord's own words")
    with pytest.raises(SendRefused, match=words):
        await sender.send(to(dc.dm(), "hello"))
    assert len(dc.calls("POST", "/channels/{channel_id}/messages")) == 1


async def test_a_deleted_channel_is_a_final_failure(dc: DiscordServer, sender: Sender) -> None:
    dc.forbid(dc.channel(), "send_messages")
    with pytest.raises(SendRefused, match="can't write"):
        await sender.send(to(dc.channel(), "hello"))
    dc.close_dms(dc.user())
    with pytest.raises(SendRefused, match="doesn't accept direct messages"):
        await sender.send(to(dc.dm(), "hello"))
    dc.kick(dc.guild())
    with pytest.raises(SendRefused, match="can't see"):
        await sender.send(to(dc.channel(), "hello"))
    with pytest.raises(SendRefused, match="gone"):
        await sender.send(OutboundMessage(ChatKey("discord", "404"), "hello"))


async def test_a_refused_token_is_a_temporary_failure(dc: DiscordServer, sender: Sender) -> None:
    dc.fault(POST, "refuse", status=401, text="401: Unauthorized")
    with pytest.raises(SendLater, match="refuses the token") as caught:
        await sender.send(to(dc.dm(), "hello"))
    assert (caught.value.maybe_sent, caught.value.seconds) == (False, 60)
    await sender.send(to(dc.dm(), "hello"))


async def test_without_a_connection_a_reply_was_certainly_not_sent() -> None:
    async with connected_client() as sender, sender.dc.outage():
        with pytest.raises(SendLater) as caught:
            await sender.send(to(sender.dc.dm(), "hello"))
        assert not caught.value.maybe_sent


async def test_an_edit_without_a_response_is_repeated_without_a_mark(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "half"), outbox_id=6)
    shown = await dc.reply()
    dc.fault("PATCH /channels/*/messages/*", "drop")
    whole = to(dc.dm(), "whole", edits=str(shown.id))
    with pytest.raises(SendLater) as caught:
        await sender.send(whole)
    assert not caught.value.maybe_sent
    dc.advance(600)
    await sender.send(whole, again=True)
    assert shown.text == "whole"
    assert len(dc.dm().from_bot()) == 1


async def test_nothing_is_sent_before_login_or_after_close(dc: DiscordServer, sender: Sender) -> None:
    await sender.client.close()
    with pytest.raises(SendLater, match="not connected") as caught:
        await sender.send(to(dc.dm(), "hello"))
    assert not caught.value.maybe_sent
    assert dc.calls("POST", "/channels/{channel_id}/messages") == []


async def test_interaction_tokens_are_never_logged() -> None:
    async with connected_client(answer=0.3) as sender:
        for kind in ("hang", "drop", "server_error", "cloudflare"):
            asked = sender.dc.slash("ask")
            origin = await sender.defer(asked)
            sender.dc.fault("PATCH /webhooks/**", kind, seconds=1, status=503)
            with pytest.raises(SendLater) as caught:
                await sender.send(to(sender.dc.dm(), "hello", reply_to=origin.pack()))
            assert asked.token not in str(caught.value)


async def test_a_response_that_trickles_in_times_out() -> None:
    async with connected_client(answer=0.3) as sender:
        sender.dc.fault(POST, "drip", seconds=0.05)
        with pytest.raises(SendLater) as caught:
            await sender.send(to(sender.dc.dm(), "hello"))
        assert caught.value.maybe_sent


async def test_library_calls_have_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example those of the backfill."""
    monkeypatch.setattr("bot.adapters.discord.client.CALL_TIMEOUT", aiohttp.ClientTimeout(total=0.3))
    async with DiscordServer() as dc, running_platform(dc) as harness:
        dc.fault("GET /channels/*", "drip", seconds=0.05)
        with pytest.raises(TimeoutError):
            await harness.platform._client.http.get_channel(dc.channel().id)


async def test_a_proxys_non_utf_8_page_is_an_error(dc: DiscordServer, harness: DiscordHarness) -> None:
    dc.fault(POST, "latin_1")
    with pytest.raises(SendLater, match="no answer from Discord") as caught:
        await harness.send(to(dc.dm(), "hello"))
    assert caught.value.maybe_sent
    await harness.send(to(dc.dm(), "hello"))
