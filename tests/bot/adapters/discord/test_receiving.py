"""Messages are accepted in order and once, however long that takes, and missed ones are fetched."""

from __future__ import annotations

import pytest

from bot.adapters.discord.backfill import ANSWERED_SECONDS, STATE_KEY, Cursors
from routing.errors import StorageFault
from routing.types.messages import ChatKey
from tests.bot.adapters.discord.client import key
from tests.bot.adapters.discord.harness import DiscordHarness, PersistentState, running_platform
from tests.servers.discord import DiscordServer


@pytest.mark.parametrize(
    ("fault", "why"), [(StorageFault("disk full"), "disk full"), (RuntimeError("a bug"), "RuntimeError")]
)
async def test_messages_stay_in_order_during_storage_failures(
    dc: DiscordServer, harness: DiscordHarness, fault: Exception, why: str
) -> None:
    harness.failures, harness.fault = 3, fault
    dc.say("one")
    await dc.wait_for(lambda _: f"can't be saved ({why})" in harness.platform.progress.problem)
    dc.say("two")
    dc.say("three")
    assert await harness.texts(3) == ["one", "two", "three"]
    assert harness.platform.progress.problem == ""
    assert len([line for line in harness.log.lines if "can't be saved" in line]) == 1


async def test_a_repeated_event_is_one_message(dc: DiscordServer, harness: DiscordHarness) -> None:
    message = dc.say("one")
    dc.redeliver(message)
    await harness.received(dc.say("two"))
    assert await harness.texts(2) == ["one", "two"]


async def test_missed_messages_are_processed_first() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("before"))
            await harness.received(dc.say("before", mention=True, channel="general"))
            await harness.received(dc.say("before", mention=True, thread=dc.thread("plans")))
        missed = [dc.say(f"away {number}") for number in range(250)]
        dc.say("not for you", channel="general")
        dc.say("away", mention=True, channel="general")
        dc.say("away", thread=dc.thread("plans"))
        dc.say("a reply to nobody you know", user="Bob", channel="general", reply_to=missed[0])
        hold = dc.fault("GET /channels/*/messages", "slow", times=None, seconds=0.1)
        async with running_platform(dc, kept) as harness:
            await dc.wait_for(lambda _: hold.hits)
            dc.say("now")
            dc.say("now", mention=True, channel="general")
            dc.say("now", thread=dc.thread("plans"))
            await harness.texts(255)
            texts = {chat: [m.text for m in harness.accepted if m.chat == chat] for chat in kept.chats}
            assert texts == {
                key(dc.dm()): [*(f"away {number}" for number in range(250)), "now"],
                key(dc.channel("general")): ["away", "now"],
                key(dc.thread("plans")): ["away", "now"],
            }
            assert {m.private for m in harness.accepted if m.chat == key(dc.dm())} == {True}
            assert {m.private for m in harness.accepted if m.chat != key(dc.dm())} == {False}


async def test_nothing_new_is_accepted_before_the_backfill_is_planned() -> None:
    kept = PersistentState()
    async with DiscordServer(heartbeat_interval=0.05) as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("before"))
        dc.say("away")
        kept.readable.clear()
        async with running_platform(dc, kept) as harness:
            begun = harness.platform.progress.last_update
            dc.say("now")
            beats = len(dc.sessions[-1].heartbeats)
            await dc.wait_for(lambda _: len(dc.sessions[-1].heartbeats) > beats + 2)
            assert (harness.accepted, harness.platform.progress.last_update) == ([], begun)
            kept.readable.set()
            assert await harness.texts(2) == ["away", "now"]


async def test_processed_messages_are_not_fetched_again() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            last = dc.say("heard")
            await harness.received(last)
        assert kept.state.kept[STATE_KEY] == f"{dc.bot.id} {last.id}"
        dc.advance(ANSWERED_SECONDS + 60)
        dc.say("away")
        async with running_platform(dc, kept) as harness:
            assert await harness.texts(1) == ["away"]
        asked = [call.query for call in dc.calls("GET", "/channels/{channel_id}/messages")]
        assert [int(query["after"]) > last.id for query in asked] == [True]


async def test_after_a_kill_unstored_messages_are_fetched() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("one"))
            await harness.received(dc.say("two"))
            harness.failures = 1000
            dc.say("three")
            await dc.wait_for(lambda _: harness.failures < 1000)
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("four"))
            assert await harness.texts(2) == ["three", "four"]


async def test_the_cursor_does_not_advance_past_a_gap() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("one"))
        mark = kept.state.kept[STATE_KEY]
        away = dc.say("two")
        dc.fault("GET /channels/*/messages", "refuse", times=None, status=500)
        async with running_platform(dc, kept) as harness:
            dc.say("three")
            dc.advance(120)
            bob = dc.say("hi", user="Bob")
            await harness.received(bob)
        assert kept.state.kept[STATE_KEY] == mark
        dc.clear_faults()
        async with running_platform(dc, kept) as harness:
            assert await harness.texts(2) == ["two", "three"]
            assert harness.accepted[0].update_id == str(away.id)


async def test_messages_before_joining_a_thread_are_ignored() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            thread = dc.thread("plans")
            dc.say("among us", thread=thread)
            await harness.received(dc.say("join us", mention=True, thread=thread))
        dc.advance(150)
        dc.say("away", thread=thread)
        async with running_platform(dc, kept) as harness:
            assert await harness.texts(1) == ["away"]


async def test_a_deleted_channel_delays_no_other() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("one", mention=True, channel="general"))
            await harness.received(dc.say("one", mention=True, channel="secret"))
            await harness.received(dc.say("one"))
        dc.delete_general()
        dc.forbid("secret", "view_channel")
        kept.chats[key(dc.thread("post", dc.channel("forum")))] = None
        history = f"GET /channels/{dc.channel('forum').id}/messages"
        dc.fault(history, "refuse", status=400, code=50024, text="Wrong channel type", times=None)
        dc.say("two")
        async with running_platform(dc, kept) as harness:
            assert await harness.texts(1) == ["two"]
            await dc.wait_for(lambda _: len([line for line in harness.log.lines if "skipping chat" in line]) == 3)
            assert not [line for line in harness.log.lines if "can't read the history" in line]


async def test_backfill_is_retried() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("one"))
        dc.say("two")
        dc.fault("GET /channels/*/messages", "drop", times=2)
        async with running_platform(dc, kept) as harness:
            assert await harness.texts(1) == ["two"]


async def test_a_new_bot_account_has_nothing_to_backfill() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("one"))
        kept.state.kept[STATE_KEY] = kept.state.kept[STATE_KEY].replace(str(dc.bot.id), "77")
        dc.say("two")
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("three"))
            assert await harness.texts(1) == ["three"]


async def test_an_unknown_thread_is_looked_up_on_a_mention(dc: DiscordServer) -> None:
    thread = dc.thread("old")
    dc.archive(thread)
    async with running_platform(dc) as harness:
        await harness.received(dc.say("hi", mention=True, channel="general"))
        thread.archived = False  # without its event
        dc.say("not for you", thread=thread)
        received = await harness.received(dc.say("what?", mention=True, thread=thread))
        assert received.chat == key(thread)
        assert len(dc.calls("GET", "/channels/{channel_id}")) == 1
        assert (await harness.received(dc.say("more", thread=thread))).chat == key(thread)


async def test_while_stopping_interactions_fail_and_messages_are_stored(
    dc: DiscordServer, harness: DiscordHarness
) -> None:
    await dc.wait_for(lambda _: dc.commands)
    await harness.received(dc.slash("tier", {"tier": "smart"}))
    await harness.platform.stop_receiving()
    late = dc.slash("tier", {"tier": "deep"})
    await harness.received(dc.say("for the next start"))
    assert await harness.texts(2) == ["/tier smart", "for the next start"]
    assert not late.deferred


async def test_a_waiting_message_shows_eyes(dc: DiscordServer, harness: DiscordHarness) -> None:
    await dc.wait_for(lambda _: dc.commands)
    message, asked = dc.say("hi"), dc.slash("help", {})
    await harness.platform.waiting(await harness.received(message))
    await harness.platform.waiting(await harness.received(asked))
    assert message.reactions == {"👀": {dc.bot.id}}
    dc.delete(message)
    await harness.platform.waiting(await harness.received(message))


async def test_late_messages_of_one_connection_are_found_before_the_cursor() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept) as harness:
            await harness.received(dc.say("one"))
        dc.say("never heard")
        dc.advance(240)
        kept.state.kept[STATE_KEY] = f"{dc.bot.id} {dc.say('the mark', user='Bob').id}"
        async with running_platform(dc, kept) as harness:
            assert await harness.texts(1) == ["never heard"]


async def test_a_channel_stays_known_for_weeks() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc, running_platform(dc, kept) as harness:
        await harness.received(dc.say("hi"))
        assert dc.now() - kept.since > 29 * 86400


@pytest.mark.parametrize("times", [1, None])
async def test_a_delayed_channel_lookup_loses_no_message(dc: DiscordServer, times: int | None) -> None:
    """It is retried; in the end the message is answered where it was written."""
    thread = dc.thread("old")
    dc.archive(thread)
    async with running_platform(dc, pace={"backoff": 0.002}) as harness:
        await harness.received(dc.say("hi"))
        thread.archived = False  # without its event
        dc.fault("GET /channels/*", "server_error", times=times, status=503)
        received = await harness.received(dc.say("what?", mention=True, thread=thread))
        assert received.chat == (key(thread) if times else ChatKey("discord", str(thread.id)))
        assert not received.private


async def test_after_a_kill_before_the_first_answer_unknown_channels_are_fetched() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        dc.guild()
        async with running_platform(dc, kept) as harness:
            await dc.wait_for(lambda _: kept.state.kept.get(STATE_KEY))
            harness.failures = 1000
            dc.say("the very first", channel="general", mention=True)
            await dc.wait_for(lambda _: harness.failures < 1000)
        async with running_platform(dc, kept) as harness:
            assert await harness.texts(1) == ["the very first"]


def test_the_cursor_waits_for_a_lost_connection() -> None:
    cursors = Cursors()
    cursors.session_started(0)
    assert cursors.since == {0: 0}
    assert not cursors.complete(2)
    cursors.since.clear()
    assert cursors.complete(1)
    assert not cursors.complete(2)
    cursors.session_started(1)
    cursors.since.clear()
    assert cursors.complete(2)
    cursors.saw(1, 7)
    cursors.disconnected(1)
    cursors.saw(0, 9)
    assert not cursors.complete(2)
    assert cursors.newest == 9
    cursors.session_resumed(1)
    assert cursors.complete(2)
    cursors.disconnected(1)
    cursors.session_started(1)
    cursors.session_started(1)
    assert cursors.since == {1: 7}
    assert not cursors.complete(2)
