"""A thread per mention, if the owner wants that."""

from __future__ import annotations

from tests.bot.adapters.discord.client import key, to
from tests.bot.adapters.discord.harness import DiscordHarness, PersistentState, running_platform
from tests.servers.discord import DiscordServer
from tests.servers.discord.views import message_event


async def test_a_mention_starts_a_thread_that_continues() -> None:
    async with DiscordServer() as dc, running_platform(dc, threads=True) as harness:
        dc.guild()
        asked = dc.say("why is\nthe sky blue? " + "x" * 100, mention=True, channel="general")
        received = await harness.received(asked)
        thread = asked.thread
        assert thread is not None
        assert received.chat == key(thread)
        assert thread.name.startswith("why is the sky blue? xxx")
        assert len(thread.name) == 60
        assert (await harness.received(dc.say("and at night?", thread=thread))).chat == key(thread)
        await harness.send(to(thread, "dark"))
        edit = dc.edit(asked, f"{dc.bot.mention} why is it red?")
        await harness.texts(3)
        assert (harness.accepted[-1].kind, harness.accepted[-1].chat) == ("edited", key(thread)), edit
        await harness.platform.waiting(received)
        assert asked.reactions == {"👀": {dc.bot.id}}


async def test_commands_replies_direct_messages_and_threads_start_no_thread() -> None:
    async with DiscordServer() as dc, running_platform(dc, threads=True) as harness:
        dc.guild()
        await harness.received(dc.say("/tier smart", mention=True, channel="general"))
        await harness.send(to(dc.channel("general"), "ok"))
        await harness.received(dc.say("thanks", channel="general", reply_to=dc.channel("general").from_bot()[0]))
        await harness.received(dc.say("hi"))
        await harness.received(dc.say("hi", mention=True, thread=dc.thread("plans")))
        assert dc.calls("POST", "/channels/{channel_id}/messages/{message_id}/threads") == []


async def test_without_thread_permission_the_answer_goes_to_the_channel(dc: DiscordServer) -> None:
    dc.forbid("general", "create_public_threads")
    async with running_platform(dc, threads=True) as harness:
        for _ in range(2):
            received = await harness.received(dc.say("hi", mention=True, channel="general"))
            assert received.chat == key(dc.channel("general"))
        assert len([line for line in harness.log.lines if "can't create a thread" in line]) == 1


async def test_a_thread_from_an_interrupted_attempt_is_reused() -> None:
    kept = PersistentState()
    async with DiscordServer() as dc:
        async with running_platform(dc, kept, threads=True) as harness:
            await harness.received(dc.say("one", mention=True, channel="general"))
            harness.failures = 1000
            asked = dc.say("two", mention=True, channel="general")
            await dc.wait_for(lambda _: asked.thread is not None and harness.failures < 1000)
        async with running_platform(dc, kept, threads=True) as harness:
            assert asked.thread is not None
            assert (await harness.received(asked)).chat == key(asked.thread)


async def test_a_repeated_mention_starts_one_thread() -> None:
    async with DiscordServer() as dc, running_platform(dc, threads=True) as harness:
        dc.guild()
        event = message_event(dc, dc.say("hi", mention=True, channel="general"), readable=True)
        dc.events.dispatch("MESSAGE_CREATE", event, dc.guild())
        await dc.wait_for(lambda _: len(dc.calls("POST", "/channels/{channel_id}/messages/{message_id}/threads")) == 2)
        received = await harness.received(dc.say("again", mention=True, channel="general"))
        assert [message.text for message in harness.accepted] == ["hi", "again"]
        assert received.chat.thread_id
        assert not [line for line in harness.log.lines if "can't create a thread" in line]


async def test_by_default_a_mention_is_answered_in_its_channel(dc: DiscordServer, harness: DiscordHarness) -> None:
    asked = dc.say("hi", mention=True, channel="general")
    assert (await harness.received(asked)).chat == key(dc.channel("general"))
    assert asked.thread is None
