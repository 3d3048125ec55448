"""Injected faults and flood limits of the loopback Telegram server."""

import asyncio
from typing import Any, cast

import pytest
from telegram import Bot
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, NetworkError, RetryAfter, TimedOut

from tests.fakes import later
from tests.servers.sdk import a_bot
from tests.servers.telegram import ApiError, Chat, TelegramServer
from tests.servers.telegram.flood import Flood


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("too_many", RetryAfter, "Retry in 7"),
        ("conflict", Conflict, "terminated by other"),
        ("unauthorized", InvalidToken, ""),
        ("server_error", NetworkError, "Bad Gateway"),
        ("bad_request", BadRequest, "refused by order"),
        ("forbidden", Forbidden, "blocked"),
        ("drop_before", NetworkError, ""),
        ("drop_after", NetworkError, ""),
        ("hang", TimedOut, ""),
        ("hang_after", TimedOut, ""),
        ("slow", TimedOut, ""),
    ],
)
async def test_each_fault(tg: TelegramServer, bot: Bot, kind: Any, error: type[Exception], text: str) -> None:
    chat = tg.private()
    fault = tg.fault("sendMessage", kind, retry_after=7, skip=1)
    done = kind in ("drop_after", "hang_after", "slow")
    await bot.send_message(chat.id, "before")
    struck = asyncio.create_task(bot.send_message(chat.id, "struck", read_timeout=20))
    await tg.wait_for(lambda _: fault.hits and len(chat.messages) == 1 + done)
    if error is TimedOut:
        later(30)
    with pytest.raises(error, match=f"(?i){text}"):
        await struck
    await bot.send_message(chat.id, "after")
    assert [message.text for message in chat.messages] == ["before", *["struck"] * done, "after"]
    assert fault.hits == 1
    assert tg.violations == []


async def test_faults_match_calls(tg: TelegramServer, bot: Bot) -> None:
    chat = tg.private()
    fault = tg.fault("*", "server_error", times=None, when=lambda params: params.get("text") == "bad")
    await bot.send_message(chat.id, "good")
    for _ in range(2):
        with pytest.raises(NetworkError):
            await bot.send_message(chat.id, "bad")
    fault.clear()
    await bot.send_message(chat.id, "bad")
    with pytest.raises(ValueError, match="unknown fault"):
        tg.fault("sendMessage", cast(Any, "gremlins"))


async def test_an_outage_refuses_connections_and_keeps_updates(tg: TelegramServer, bot: Bot) -> None:
    port = tg.port
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    async with tg.outage():
        with pytest.raises(NetworkError):
            await poll
        with pytest.raises(NetworkError):
            await bot.get_me()
        tg.say("said meanwhile")
    assert tg.port == port
    assert len(await bot.get_updates()) == 1


async def test_a_revoked_token_is_refused_everywhere(tg: TelegramServer, bot: Bot) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    tg.revoke()
    with pytest.raises(InvalidToken):
        await bot.get_me()
    with pytest.raises((InvalidToken, Conflict)):
        await poll
    tg.restore()
    await bot.get_me()


async def test_flood_limits_are_enforced_when_asked_for() -> None:
    async with TelegramServer(flood=True) as tg, a_bot(tg) as bot:
        chat = tg.private()
        sending = (bot.send_message(chat.id, str(number)) for number in range(40))
        with pytest.raises(RetryAfter):
            [await one for one in sending]


def test_flood_limits_per_chat_per_group_and_in_total() -> None:
    now = [0.0]
    flood = Flood(lambda: now[0])
    alone, team = Chat(1, "private"), Chat(-1, "supergroup")

    def refused_for(chat: Chat) -> int:
        """Seconds to wait, 0 when the message goes through."""
        try:
            flood.spend("sendMessage", chat)
        except ApiError as error:
            return error.parameters["retry_after"]
        return 0

    assert [refused_for(alone) for _ in range(4)] == [0, 0, 0, 3]
    now[0] = 3.5
    assert refused_for(alone) == 0
    for number in range(20):
        now[0] = 10.0 + 2 * number
        assert refused_for(team) == 0
    now[0] = 50.0
    assert refused_for(team) == 20
    now[0] = 100.0
    assert [refused_for(Chat(number, "private")) for number in range(100, 131)] == [0] * 30 + [1]
    flood.spend("sendChatAction", Chat(200, "private"))
