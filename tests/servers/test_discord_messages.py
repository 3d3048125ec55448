"""Messages on the loopback Discord: sending, editing, reading, threads, files and permissions."""

import asyncio
import io
from typing import Any, cast

import aiohttp
import discord
import pytest

from tests.servers.discord import Channel, DiscordServer
from tests.servers.discord.sdk import Client, raw, talking

NO_PINGS = discord.AllowedMentions.none()


def there(client: Client, channel: Channel) -> discord.TextChannel:
    found = client.get_channel(channel.id)
    assert isinstance(found, discord.TextChannel)
    return found


async def test_a_message_is_sent_edited_and_deleted() -> None:
    async with talking() as (dc, client):
        question = dc.say("hi", channel="general", mention=True)
        await dc.reply("general")
        general = there(client, question.channel)
        async with general.typing():
            sent = await general.send("…", reference=client.received[0], allowed_mentions=NO_PINGS)
        for text in ("one", "one two"):
            await sent.edit(content=text)
        message = await dc.reply("general", matching="two")
        assert [version.text for version in message.versions] == ["…", "one", "one two"]
        assert message.reply_to is question
        assert dc.typing[0].channel is question.channel
        await client.received[0].add_reaction("👀")
        await client.received[0].add_reaction("✅")
        assert client.user is not None
        await client.received[0].remove_reaction("👀", client.user)
        assert list(question.reactions) == ["✅"]
        await sent.delete()
        assert message.deleted
        assert message not in question.channel.from_bot()
        with pytest.raises(discord.NotFound, match="10008"):
            await sent.edit(content="too late")


async def test_a_nonce_is_enforced_for_two_minutes() -> None:
    async with talking() as (dc, client):
        dm = await client.create_dm(discord.Object(dc.user().id))
        first = await dm.send("once", nonce="n-1")
        again = await dm.send("twice", nonce="n-1")
        other = await dm.send("other", nonce="n-2")
        assert first.id == again.id != other.id
        assert first.nonce == "n-1"
        dc.advance(60)
        assert (await dm.send("still", nonce="n-1")).id == first.id
        dc.advance(61)
        assert (await dm.send("once more", nonce="n-1")).id != first.id
        assert [message.text for message in dc.dm().messages] == ["once", "other", "once more"]
        async with raw(dc) as http:
            for _ in range(2):
                await http.call(f"POST /channels/{dm.id}/messages", {"content": "unprotected", "nonce": "n-3"})
        assert len(dc.dm().messages) == 5


async def test_history_is_read_in_both_directions() -> None:
    async with talking() as (dc, client):
        general = there(client, dc.channel())
        messages = [dc.say(str(number), channel="general") for number in range(120)]
        await dc.reply("general", count=120)
        later = [m.id async for m in general.history(after=discord.Object(messages[10].id), limit=None)]
        assert later == [message.id for message in dc.channel().messages if message.id > messages[10].id]
        newest = [m.content async for m in general.history(limit=3)]
        assert newest == [message.text for message in reversed(dc.channel().messages[-3:])]
        before = [m.content async for m in general.history(before=discord.Object(messages[2].id), limit=1)]
        assert before == ["1"]
        async with raw(dc) as http:
            _, found = await http.call(f"GET /channels/{general.id}/messages?after={messages[10].id}&limit=2")
            _, around = await http.call(f"GET /channels/{general.id}/messages?around={messages[10].id}&limit=3")
        assert [message["content"] for message in cast(Any, found)] == ["12", "11"]
        assert [message["content"] for message in cast(Any, around)] == ["11", "10", "9"]


async def test_files_go_both_ways() -> None:
    async with talking() as (dc, client):
        question = dc.say("look", attachments=[("cat.png", b"\x89PNG"), ("notes.txt", b"abc", "text/x-notes")])
        await dc.reply()
        first, second = client.received[0].attachments
        assert (first.content_type, second.content_type, second.size) == ("image/png", "text/x-notes", 3)
        assert await first.read() == b"\x89PNG"
        assert first.url == question.attachments[0].url
        sent = await client.received[0].reply(
            "here", file=discord.File(io.BytesIO(b"long"), "answer.md", description="all")
        )
        message = await dc.reply(matching="here")
        assert [(file.name, file.data, file.description) for file in message.attachments] == [
            ("answer.md", b"long", "all")
        ]
        await sent.edit(attachments=[*sent.attachments, discord.File(io.BytesIO(b"2"), "b.md")])
        assert [file.name for file in message.attachments] == ["answer.md", "b.md"]
        await sent.edit(content="only text", attachments=[])
        assert message.attachments == []
        assert message.text == "only text"


async def test_threads_are_opened_and_open_again() -> None:
    async with talking() as (dc, client):
        message = dc.say("a question", channel="general")
        await dc.reply("general")
        thread = await client.received[0].create_thread(name="Question")
        assert thread.id == message.id
        await thread.send("an answer")
        reply = await dc.reply(dc.channels[thread.id])
        assert reply.channel.starter is message
        assert message.thread is reply.channel
        with pytest.raises(discord.HTTPException, match="160004"):
            await client.received[0].create_thread(name="Again")
        own = await there(client, message.channel).create_thread(name="Own", type=discord.ChannelType.public_thread)
        await own.join()
        await own.edit(archived=True)
        assert dc.channels[own.id].archived
        sent = await own.send("opens it")
        assert not dc.channels[own.id].archived
        dc.archive(dc.channels[own.id])
        with pytest.raises(discord.HTTPException, match="50083"):
            await sent.edit(content="not here")
        assert [one.id for one in await client.guilds[0].active_threads()] == [thread.id]


async def test_missing_permissions_are_403() -> None:
    async with talking() as (dc, client):
        general = there(client, dc.channel())
        mine = await general.send("mine")
        dc.forbid("general", "send_messages", "add_reactions", "read_message_history")
        refused: list[tuple[Any, int]] = [(general.send("x"), 50013), (mine.add_reaction("👀"), 50013)]
        dc.say("hers", channel="general")
        await client.until(lambda: client.received)
        refused += [(general.typing().__aenter__(), 50013), (client.received[0].edit(content="x"), 50005)]
        for call, code in refused:
            with pytest.raises(discord.Forbidden, match=str(code)):
                await call
        assert not general.permissions_for(general.guild.me).send_messages
        assert [message async for message in general.history()] == []
        dc.forbid("general", "view_channel")
        with pytest.raises(discord.Forbidden, match="50001"):
            await mine.edit(content="x")
        dc.allow("general", "view_channel", "send_messages")
        await general.send("again")
        dc.close_dms("bob")
        with pytest.raises(discord.Forbidden, match="50007"):
            await (await client.fetch_user(dc.user("bob").id)).send("x")
        dc.delete_general()
        with pytest.raises(discord.NotFound, match="10003"):
            await general.send("x")
        dc.kick()
        with pytest.raises(discord.NotFound, match="10004"):
            await client.fetch_guild(general.guild.id)
        # on_message met the missing permission, too
        assert {entry.code for entry in dc.refusals} == {50001, 50005, 50007, 50013, 10003, 10004}


async def test_the_same_nonce_at_the_same_time_is_one_message() -> None:
    async with talking() as (dc, client):
        dm = await client.create_dm(discord.Object(dc.user().id))
        sent = await asyncio.gather(*(dm.send("x", nonce="n") for _ in range(5)))
        assert len({message.id for message in sent}) == len(dc.dm().messages) == 1


async def test_a_client_can_change_the_gateway_url() -> None:
    """discord.py's other queries about guilds and users are answered from the same state."""
    async with talking() as (dc, client):
        bob = dc.user("bob")
        dc.say("hello", user=bob, channel="general")
        await dc.reply("general")
        guild = await client.fetch_guild(client.guilds[0].id)
        assert guild.owner_id == dc.user().id
        assert (await guild.fetch_member(bob.id)).name == "bob"
        assert [channel.name for channel in await guild.fetch_channels()] == ["general"]
        dc.role("Staff")
        assert [role.name for role in await guild.fetch_roles()] == ["@everyone", "Staff"]
        dc.grant("members", "message_content")
        found = await client.http.get_members(guild.id, 2, 1001)
        assert [member["user"]["id"] for member in found] == [str(bob.id), str(dc.bot.id)]
        dc.grant("message_content")
        with pytest.raises(discord.Forbidden):
            await client.http.get_members(guild.id, 2, None)
        assert (await client.fetch_channel(dc.channel().id)).id == dc.channel().id
        with pytest.raises(discord.NotFound):
            await client.fetch_user(5)
        info = await client.application_info()
        assert info.flags.gateway_message_content_limited
        assert info.owner.id == dc.user().id
        with pytest.raises(discord.Forbidden):
            await info.edit(tags=["mine"])
        assert [str(violation) for violation in dc.violations] == [
            "PATCH /applications/@me: a bot leaves its application as the owner set it"
        ]
        dc.violations.clear()
        shards, url, limit = await client.http.get_bot_gateway()
        assert (shards, url, limit["remaining"]) == (1, dc.gateway.rstrip("/"), 999)


async def test_an_attachment_needs_no_token() -> None:
    async with DiscordServer() as dc, aiohttp.ClientSession() as session:
        message = dc.say("x", attachments=[("a b.txt", b"abc")])
        async with session.get(message.attachments[0].url) as answer:
            assert (answer.status, await answer.read(), answer.content_type) == (200, b"abc", "text/plain")
