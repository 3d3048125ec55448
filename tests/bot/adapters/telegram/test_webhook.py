"""Webhook mode: the secret, and 200 only after the update was accepted."""

from __future__ import annotations

import socket
from typing import Any

import aiohttp
import pytest

from bot.adapters.telegram.api import UPDATES
from routing.errors import ConfigError
from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform, to
from tests.ports import free_port
from tests.servers.telegram import TelegramServer


def hook() -> dict[str, Any]:
    """Options for a free port."""
    listen = f"127.0.0.1:{free_port()}"
    return {"webhook_url": f"http://{listen}/hook", "webhook_listen": listen, "webhook_secret": "s3cret"}


async def test_webhook_updates_are_delivered_and_answered() -> None:
    async with TelegramServer() as tg, running_platform(tg, **hook()) as harness:
        message = tg.say("hello")
        await harness.received(message)
        await tg.wait_for(lambda _: not tg.updates.pending)
        await harness.send(to(message.chat, "hi"))
        assert (await tg.reply()).text == "hi"
        (call,) = tg.calls("setWebhook")
        assert call.params["secret_token"] == "s3cret"
        assert not call.params.get("drop_pending_updates")
        assert call.params["allowed_updates"] == list(UPDATES)
        assert tg.calls("getUpdates") == []
        assert harness.platform.progress.last_step > 0


async def test_updates_that_cannot_be_stored_are_redelivered() -> None:
    async with TelegramServer() as tg, running_platform(tg, **hook()) as harness:
        harness.failures = 2
        assert (await harness.received(tg.say("keep me"))).text == "keep me"
        assert harness.batches == 3
        assert harness.platform.progress.problem == ""


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"{}", 403),
        ({"X-Telegram-Bot-Api-Secret-Token": "wrong"}, b"{}", 403),
        ({"X-Telegram-Bot-Api-Secret-Token": "sécret"}, b"{}", 403),
        ({"X-Telegram-Bot-Api-Secret-Token": "s3cret"}, b"nonsense", 400),
        ({"X-Telegram-Bot-Api-Secret-Token": "s3cret"}, b"[" * 100_000, 400),
        ({"X-Telegram-Bot-Api-Secret-Token": "s3cret"}, b'{"message":' * 900 + b"1" + b"}" * 900, 400),
        ({"X-Telegram-Bot-Api-Secret-Token": "s3cret"}, b"[]", 400),
        ({"X-Telegram-Bot-Api-Secret-Token": "s3cret"}, b'{"update_id": 1}', 200),
    ],
)
async def test_only_telegram_may_call_the_webhook(headers: dict[str, str], body: bytes, status: int) -> None:
    options = hook()
    async with TelegramServer() as tg, running_platform(tg, **options) as harness, aiohttp.ClientSession() as http:
        async with http.post(options["webhook_url"], data=body, headers=headers) as answer:
            assert answer.status == status
        assert harness.accepted == []


async def test_a_webhook_secret_is_generated_by_default() -> None:
    options = hook() | {"webhook_secret": ""}
    async with TelegramServer() as tg, running_platform(tg, **options) as harness:
        await harness.received(tg.say("hello"))
        assert len(tg.calls("setWebhook")[0].params["secret_token"]) >= 32


async def test_failing_deliveries_are_noticed() -> None:
    async with TelegramServer() as tg, running_platform(tg, pace={"webhook_check": 0.05}, **hook()) as harness:
        tg.updates.webhook = {"url": "https://elsewhere.example/hook"}
        await tg.wait_for(lambda _: "another program" in harness.platform.progress.problem)


async def test_a_taken_port_ends_the_start_with_one_sentence() -> None:
    options = hook()
    with socket.socket() as taken:
        host, port = options["webhook_listen"].split(":")
        taken.bind((host, int(port)))
        taken.listen()
        async with TelegramServer() as tg:
            harness = TelegramHarness(tg, **options)
            with pytest.raises(ConfigError, match="TELEGRAM_WEBHOOK_LISTEN"):
                await harness.platform.start()
            await harness.platform.close()


async def test_invalid_options_are_refused() -> None:
    tg = TelegramServer()
    nonsense: tuple[tuple[dict[str, Any], str], ...] = (
        ({"webhook_url": "https://x.example", "webhook_listen": "nowhere"}, "TELEGRAM_WEBHOOK_LISTEN"),
        ({"webhook_secret": "no spaces"}, "TELEGRAM_WEBHOOK_SECRET"),
        ({"api_root": "api.telegram.org"}, "TELEGRAM_API_ROOT"),
        ({"bot_token": "my token"}, "TELEGRAM_BOT_TOKEN"),
        ({"flood_limit": "much"}, "TELEGRAM_FLOOD_LIMIT"),
        *(
            ({"proxy": proxy, "api_root": "http://telegram.example"}, "TELEGRAM_PROXY")
            for proxy in ("nonsense", "http://", "http://[::1", "http://host:abc", "ftp://host:1", "socks5://host")
        ),
    )
    for options, name in nonsense:
        with pytest.raises(ConfigError, match=name):
            TelegramHarness(tg, **({"api_root": "http://127.0.0.1:1"} | options))
