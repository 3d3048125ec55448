"""The loopback Telegram server delivers updates as Telegram does."""

import asyncio

import httpx
import pytest
from aiohttp import web
from telegram import Bot
from telegram.error import Conflict

from tests.servers.sdk import a_bot
from tests.servers.telegram import TelegramServer
from tests.servers.telegram.schema import SCHEMA


async def test_updates_repeat_until_confirmed_by_an_offset(tg: TelegramServer, bot: Bot) -> None:
    for text in ("one", "two", "three"):
        tg.say(text)
    first = await bot.get_updates()
    assert [update.message.text for update in first if update.message] == ["one", "two", "three"]
    assert await bot.get_updates() == first
    rest = await bot.get_updates(offset=first[0].update_id + 1, limit=1)
    assert [update.update_id for update in rest] == [first[1].update_id]
    assert await bot.get_updates(offset=first[-1].update_id + 1) == ()
    assert not tg.updates.pending


async def test_a_negative_offset_drops_all_but_the_last_updates(tg: TelegramServer, bot: Bot) -> None:
    for number in range(5):
        tg.say(str(number))
    last = await bot.get_updates(offset=-2)
    assert [update.message.text for update in last if update.message] == ["3", "4"]
    assert len(tg.updates.pending) == 2


async def test_a_long_poll_ends_with_the_first_update(tg: TelegramServer, bot: Bot) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    tg.say("wake up")
    assert [update.message.text for update in await poll if update.message] == ["wake up"]


async def test_a_second_poller_ends_the_first(tg: TelegramServer, bot: Bot) -> None:
    first = asyncio.create_task(bot.get_updates(timeout=30))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    async with a_bot(tg) as other:
        second = asyncio.create_task(other.get_updates(timeout=30))
        with pytest.raises(Conflict, match=r"(?i)terminated by other getUpdates request"):
            await first
        tg.say("for the second")
        assert len(await second) == 1


async def test_a_disconnected_poller_is_forgotten(tg: TelegramServer, raw: httpx.AsyncClient) -> None:
    poll = asyncio.create_task(raw.post("getUpdates", data={"timeout": 30}))
    await tg.wait_for(lambda tg: tg.updates.is_polled)
    poll.cancel()
    await tg.wait_for(lambda tg: not tg.updates.is_polled)
    tg.say("kept")
    assert len((await raw.post("getUpdates")).json()["result"]) == 1


async def test_only_allowed_updates_are_queued(tg: TelegramServer, bot: Bot) -> None:
    await bot.get_updates(allowed_updates=["message", "message_reaction"])
    message = tg.say("helo")
    tg.edit(message, "hello")
    assert message.update is None
    tg.react(message, "👍")
    kinds = [update.to_dict().keys() - {"update_id"} for update in await bot.get_updates()]
    assert kinds == [{"message"}, {"message_reaction"}]
    await bot.get_updates(allowed_updates=[])
    assert tg.react(message, "👍") is None


async def test_reaction_updates_include_the_old_reactions(tg: TelegramServer) -> None:
    tg.updates.subscribe(["message_reaction"])
    message = tg.say("hello")
    seen = [tg.react(message, *emoji) for emoji in (("👍",), ("👍", ":55"), ())]
    for update in seen:
        SCHEMA.check("Update")(update, "update")
    reactions = [update["message_reaction"] for update in seen if update is not None]
    assert [(len(each["old_reaction"]), len(each["new_reaction"])) for each in reactions] == [(0, 1), (1, 2), (2, 0)]
    assert {each["user"]["id"] for each in reactions} == {1001}
    in_group = tg.say("hello", group="Team")
    assert tg.react(in_group, "👍", user="bob") is None
    in_group.chat.bot_is_admin = True
    assert tg.react(in_group, "👍", user="carol") is not None


async def test_an_update_can_be_delivered_twice(tg: TelegramServer, bot: Bot) -> None:
    message = tg.say("once")
    [update] = await bot.get_updates()
    await bot.get_updates(offset=update.update_id + 1)
    tg.redeliver(message)
    [again] = await bot.get_updates(offset=update.update_id + 1)
    assert again == update
    assert await bot.get_updates(offset=update.update_id + 1) == ()


async def test_ids_may_restart_lower(tg: TelegramServer, bot: Bot) -> None:
    tg.say("before")
    [before] = await bot.get_updates()
    await bot.get_updates(offset=before.update_id + 1)
    tg.updates.next_id = 5
    tg.say("after a quiet week")
    [after] = await bot.get_updates()
    assert after.update_id == 5
    assert await bot.get_updates(offset=before.update_id + 1) == ()


async def test_a_webhook_gets_updates_in_order_until_it_says_200(tg: TelegramServer, bot: Bot) -> None:
    got: list[tuple[str | None, str, int]] = []
    statuses = [500, 500, 200, 200]

    async def receive(request: web.BaseRequest) -> web.Response:
        status = statuses[len(got)]
        body = await request.json()
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token")
        got.append((secret, body["message"]["text"], status))
        return web.Response(status=status)

    runner = web.ServerRunner(web.Server(receive))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    tg.say("one")
    tg.say("two")
    await bot.set_webhook(f"http://127.0.0.1:{runner.addresses[0][1]}/hook", secret_token="s3cret")
    await tg.wait_for(lambda tg: not tg.updates.pending)
    assert got == [("s3cret", "one", 500), ("s3cret", "one", 500), ("s3cret", "one", 200), ("s3cret", "two", 200)]
    info = await bot.get_webhook_info()
    assert info.pending_update_count == 0
    assert "500" in (info.last_error_message or "")
    with pytest.raises(Conflict, match=r"(?i)webhook is active"):
        await bot.get_updates()
    await bot.delete_webhook(drop_pending_updates=False)
    tg.say("three")
    assert len(await bot.get_updates()) == 1
    await runner.cleanup()


async def test_deleting_the_webhook_drops_updates_only_on_request(tg: TelegramServer, bot: Bot) -> None:
    tg.say("kept")
    await bot.delete_webhook(drop_pending_updates=False)
    assert len(tg.updates.pending) == 1
    await bot.delete_webhook(drop_pending_updates=True)
    assert not tg.updates.pending
