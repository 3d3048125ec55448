"""Receiving updates: none is lost or acknowledged too early."""

from __future__ import annotations

import logging
import time

import pytest

from bot.adapters.telegram.api import UPDATES
from routing.errors import ConfigError
from routing.types.messages import ChatKey, UserKey
from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform, to
from tests.servers.telegram import TelegramServer
from tests.servers.telegram.faults import Kind


async def test_a_private_message_arrives_and_its_answer_goes_back(tg: TelegramServer, harness: TelegramHarness) -> None:
    message = tg.say("hello")
    inbound = await harness.received(message)
    assert inbound.user == UserKey("telegram", "1001")
    assert inbound.chat == ChatKey("telegram", "1001")
    assert (inbound.text, inbound.kind, inbound.private) == ("hello", "message", True)
    assert (inbound.user_name, inbound.language, inbound.bot_name) == ("Alice", "en", "tierbot")
    assert (inbound.bot_id, inbound.message_id) == (str(tg.bot.id), str(message.id))
    assert inbound.sent_at == message.date
    sent = await harness.send(to(message.chat, "**hi**"))
    reply = await tg.reply()
    assert reply.text == "hi"
    assert reply.entities == [{"type": "bold", "offset": 0, "length": 2}]
    assert [(part.message_id, part.last) for part in sent] == [(str(reply.id), True)]


async def test_only_necessary_calls_are_made_at_the_start() -> None:
    async with TelegramServer() as tg, running_platform(tg):
        await tg.wait_for(lambda _: tg.updates.is_polled)
        methods = [request.method for request in tg.requests]
        assert set(methods[:2]) == {"getMe", "deleteWebhook"}
        assert "getUpdates" in methods[2:4]
        assert not tg.calls("deleteWebhook")[0].params.get("drop_pending_updates")
        poll = tg.calls("getUpdates")[0].params
        assert "offset" not in poll
        assert poll["allowed_updates"] == list(UPDATES)


async def test_the_offset_moves_only_after_accept_returned(tg: TelegramServer, harness: TelegramHarness) -> None:
    harness.failures = 2
    message = tg.say("keep me")
    inbound = await harness.received(message)
    assert message.update is not None
    await tg.wait_for(lambda _: not tg.updates.pending)
    offsets = [poll.params.get("offset") for poll in tg.calls("getUpdates")]
    acknowledged = message.update["update_id"] + 1
    assert offsets.index(acknowledged) >= 3
    assert set(offsets[: offsets.index(acknowledged)]) == {None}
    assert (harness.batches, inbound.text) == (3, "keep me")
    await tg.wait_for(lambda _: harness.platform.progress.problem == "")


async def test_updates_from_downtime_are_delivered(tg: TelegramServer) -> None:
    first = tg.say("anybody there?")
    async with running_platform(tg) as harness:
        assert (await harness.received(first)).text == "anybody there?"
    assert tg.updates.pending == {}


async def test_a_repeated_update_keeps_its_id(tg: TelegramServer, harness: TelegramHarness) -> None:
    message = tg.say("twice")
    await harness.received(message)
    tg.redeliver(message)
    await harness.until(2)
    assert harness.accepted[0].update_id == harness.accepted[1].update_id


async def test_after_six_idle_days_ids_may_start_again_below() -> None:
    async with TelegramServer() as tg, running_platform(tg, pace={"long_poll": 1}) as harness:
        await harness.received(tg.say("old"))
        await tg.wait_for(lambda _: "offset" in tg.calls("getUpdates")[-1].params)
        harness.clock.ahead = 6 * 86400 + 60
        await tg.wait_for(lambda _: "offset" not in tg.calls("getUpdates")[-1].params)
        tg.updates.next_id = 5
        assert (await harness.received(tg.say("low"))).update_id == "5"


async def test_an_unreadable_update_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness:
        tg.updates.push("message", {"message_id": "what", "chat": {"type": "private"}, "text": "secret words"})
        after = tg.say("still here")
        assert (await harness.received(after)).text == "still here"
        await tg.wait_for(lambda _: not tg.updates.pending)
    assert "can't parse update" in caplog.text
    assert "secret words" not in caplog.text


async def test_a_second_poller_is_explained_once_and_waited_out(caplog: pytest.LogCaptureFixture) -> None:
    async with TelegramServer() as tg:
        fault = tg.fault("getUpdates", "conflict", times=3)
        async with running_platform(tg) as harness:
            await tg.wait_for(lambda _: fault.hits == 1 and harness.platform.progress.problem)
            assert "another program is polling with this token" in harness.platform.progress.problem
            assert (await harness.received(tg.say("mine again"))).text == "mine again"
            assert harness.platform.progress.problem == ""
    assert fault.hits == 3
    assert caplog.text.count("another program is polling") == 1


async def test_polling_honours_retry_after(tg: TelegramServer) -> None:
    tg.fault("getUpdates", "too_many", retry_after=1)
    async with running_platform(tg):
        await tg.wait_for(lambda _: len(tg.calls("getUpdates")) == 2)
        first, second = (poll.at for poll in tg.calls("getUpdates"))
        assert second - first >= 1


@pytest.mark.parametrize("kind", ["drop_before", "drop_after", "server_error"])
async def test_failed_polls_are_retried(tg: TelegramServer, kind: Kind) -> None:
    tg.fault("getUpdates", kind, times=2)
    async with running_platform(tg) as harness:
        assert (await harness.received(tg.say("through"))).text == "through"


async def test_an_outage_is_survived_and_reported(tg: TelegramServer, harness: TelegramHarness) -> None:
    await tg.wait_for(lambda _: tg.updates.is_polled)
    async with tg.outage():
        message = tg.say("during")
        await tg.wait_for(lambda _: "no connection" in harness.platform.progress.problem)
    assert (await harness.received(message)).text == "during"
    assert harness.platform.progress.problem == ""


async def test_no_connection_at_the_start_is_retried(tg: TelegramServer) -> None:
    harness = TelegramHarness(tg)
    async with tg.outage():
        await harness.platform.start()
        assert "no connection" in harness.platform.progress.problem
    assert (await harness.received(tg.say("late but here"))).text == "late but here"
    assert harness.platform.progress.problem == ""
    await harness.platform.close()


async def test_a_wrong_token_ends_the_start_with_one_sentence(tg: TelegramServer) -> None:
    harness = TelegramHarness(tg, bot_token="123456:WRONG")
    with pytest.raises(ConfigError, match="TELEGRAM_BOT_TOKEN") as caught:
        await harness.platform.start()
    assert "WRONG" not in str(caught.value)
    await harness.platform.close()


async def test_a_revoked_token_is_reported_once_and_retried_slowly(caplog: pytest.LogCaptureFixture) -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness:
        await tg.wait_for(lambda _: tg.updates.is_polled)
        tg.revoke()
        await tg.wait_for(lambda _: sum(poll.status == 401 for poll in tg.calls("getUpdates")) == 3)
        assert "TELEGRAM_BOT_TOKEN" in harness.platform.progress.problem
        tg.restore()
        assert (await harness.received(tg.say("back"))).text == "back"
    assert caplog.text.count("refuses the token") == 1


async def test_a_silent_poller_gets_new_connections(caplog: pytest.LogCaptureFixture) -> None:
    async with TelegramServer() as tg:
        tg.fault("getUpdates", "hang")
        async with running_platform(tg) as harness:
            await tg.wait_for(lambda _: tg.calls("getUpdates"))
            harness.clock.ahead = 121
            assert (await harness.received(tg.say("hear me"))).text == "hear me"
    assert caplog.text.count("nothing heard for") == 1


async def test_a_group_that_becomes_a_supergroup_is_followed(tg: TelegramServer, harness: TelegramHarness) -> None:
    old = tg.group("Club", kind="group")
    new = tg.migrate("Club")
    await tg.wait_for(lambda _: len(harness.chats.moves) == 2)
    assert set(harness.chats.moves) == {(ChatKey("telegram", str(old.id)), str(new.id))}


async def test_progress_is_updated_by_polls(tg: TelegramServer, harness: TelegramHarness) -> None:
    begun = time.time() - 5
    await harness.received(tg.say("tick"))
    await tg.wait_for(lambda _: harness.platform.progress.last_update > begun)
    assert harness.platform.progress.last_step > begun
    assert harness.platform.progress.up_since > begun


async def test_after_stop_receiving_replies_still_go_out(tg: TelegramServer, harness: TelegramHarness) -> None:
    await harness.received(tg.say("one"))
    await harness.platform.stop_receiving()
    late = tg.say("two")
    await harness.send(to(late.chat, "answer to one"))
    assert (await tg.reply()).text == "answer to one"
    assert len(harness.accepted) == 1
    assert tg.updates.pending


async def test_the_token_stays_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with TelegramServer() as tg, running_platform(tg) as harness:
        message = tg.say("hello")
        await harness.received(message)
        await harness.send(to(message.chat, "hi"))
        photo = await harness.received(tg.say_photo(b"jpeg"))
        assert await harness.platform.fetch(photo.attachments[0]) == b"jpeg"
        secret = tg.token.partition(":")[2]
    assert secret not in caplog.text
