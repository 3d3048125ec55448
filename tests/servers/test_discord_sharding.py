"""Which connections of the loopback Discord get an event: shards, the members intent, other bots."""

import asyncio

import aiohttp
import discord

from tests.servers.discord import DiscordServer
from tests.servers.discord.sdk import Socket, pointed, talking


async def test_member_events_need_the_intent() -> None:
    async with DiscordServer(privileged=("members",)) as dc, aiohttp.ClientSession() as session:
        dc.guild()
        curious = await Socket.identified(dc, session, intents=0b11 | 1 << 9)
        other = await Socket.identified(dc, session, intents=1 << 0 | 1 << 9)
        assert [len((await one.event("GUILD_CREATE"))["members"]) for one in (curious, other)] == [2, 1]
        dc.enter("Team", "bob")
        dc.system(7, user="bob")
        dc.leave("Team", "bob")
        assert (await curious.event("GUILD_MEMBER_ADD"))["user"]["username"] == "bob"
        assert (await curious.event("MESSAGE_CREATE"))["type"] == 7
        assert (await curious.event("GUILD_MEMBER_REMOVE"))["user"]["username"] == "bob"
        await curious.send(8, {"guild_id": str(dc.guild().id), "query": "", "limit": 0, "nonce": "n"})
        assert [member["user"]["id"] for member in (await curious.event("GUILD_MEMBERS_CHUNK"))["members"]] == ["1001"]
        assert [frame["t"] for frame in dc.sessions[1].backlog] == ["READY", "GUILD_CREATE", "MESSAGE_CREATE"]
        await other.send(8, {"guild_id": str(dc.guild().id), "query": "", "limit": 0})
        assert await other.close_code() == 4014


async def test_other_bots_can_write() -> None:
    async with talking() as (dc, client):
        message = dc.say("beep", user=dc.user("other", is_bot=True), channel="general")
        assert (await dc.reply("general")).text == "echo: beep"
        assert client.received[0].author.bot
        assert message not in dc.channel().from_bot()


class Sharded(discord.AutoShardedClient):
    received: asyncio.Queue[discord.Message]

    async def setup_hook(self) -> None:
        self.received = asyncio.Queue()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """No waiting between the shards."""

    async def on_message(self, message: discord.Message) -> None:
        self.received.put_nowait(message)


async def test_a_sharded_client_is_on_every_shard(dc: DiscordServer) -> None:
    dc.shards = 2
    guilds = [dc.guild(((1 << 40) + number) << 22) for number in range(2)]
    client = Sharded(intents=discord.Intents.default(), guild_ready_timeout=0.05)
    with pointed(dc):
        async with client:
            task = asyncio.create_task(client.start(dc.token))
            await dc.wait_for(lambda dc: len(dc.sessions) == 2)
            await client.wait_until_ready()
            messages = [dc.say("x", guild=guild) for guild in guilds]
            received = [await client.received.get() for _ in messages]
        await task
    assert {message.id for message in received} == {message.id for message in messages}
    assert {one.shard for one in dc.sessions} == {(0, 2), (1, 2)}
    assert dc.violations == []


async def test_shards_get_their_own_guilds_and_the_first_one_the_dms(dc: DiscordServer) -> None:
    guilds = [dc.guild(((1 << 40) + number) << 22) for number in range(4)]
    async with aiohttp.ClientSession() as session:
        sockets = [await Socket.identified(dc, session, shard=[number, 2]) for number in range(2)]
        for guild in guilds:
            dc.say(guild.name, guild=guild)
        dc.say("direct")
        first = [await sockets[0].event("MESSAGE_CREATE") for _ in range(3)]
        second = [await sockets[1].event("MESSAGE_CREATE") for _ in range(2)]
    assert [message["content"] for message in first] == [guilds[0].name, guilds[2].name, "direct"]
    assert [message["content"] for message in second] == [guilds[1].name, guilds[3].name]
    assert [one.shard for one in dc.sessions] == [(0, 2), (1, 2)]
