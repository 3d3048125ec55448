"""The loopback Discord's gateway, with discord.py and with raw frames."""

import json
from typing import Any, cast

import aiohttp
import discord
import pytest

from tests.servers.discord import DiscordServer
from tests.servers.discord.sdk import IDENTIFY, Client, Socket, running, talking


async def test_a_client_logs_in_and_receives_messages() -> None:
    async with talking() as (dc, client):
        assert client.user is not None
        assert client.user.id == dc.bot.id
        assert [guild.name for guild in client.guilds] == ["Team"]
        assert [channel.name for channel in client.guilds[0].text_channels] == ["general"]
        message = dc.say("hello")
        assert (await dc.reply(after=message)).text == "echo: hello"
        received = client.received[0]
        assert isinstance(received.channel, discord.DMChannel)
        assert received.author.id == dc.user().id
        assert received.created_at.timestamp() == pytest.approx(message.at, abs=0.01)


@pytest.mark.parametrize("method", ["ask_reconnect", "close_gateway", "cut_gateway", "invalidate"])
async def test_a_reconnect_resumes_and_loses_nothing(method: str) -> None:
    async with talking() as (dc, client):
        getattr(dc, method)(*([True] if method == "invalidate" else []))
        for number in range(3):
            dc.say(f"missed {number}", channel="general")
        assert [message.text for message in await dc.reply("general", count=3)] == [
            "echo: missed 0",
            "echo: missed 1",
            "echo: missed 2",
        ]
        assert dc.sessions[0].resumes == ["/resume/"]
        assert len(dc.sessions) == 1
        await client.until(lambda: "resumed" in client.event_names)


async def test_an_invalid_session_restarts_without_missed_events() -> None:
    async with talking() as (dc, client):
        dc.invalidate()
        dc.say("lost")
        await dc.wait_for(lambda dc: len(dc.sessions) == 2 and dc.sessions[1].is_connected)
        dc.say("kept")
        assert (await dc.reply()).text == "echo: kept"
        assert dc.sessions[0].ended
        assert not dc.sessions[0].resumes
        assert client.event_names.count("connect") == 2


async def test_a_silent_gateway_is_left_and_resumed() -> None:
    async with DiscordServer(heartbeat_interval=0.05) as dc, running(dc, Client(heartbeat_timeout=0.3)):
        await dc.wait_for(lambda dc: dc.sessions[0].heartbeats)
        dc.gateway_silent()
        dc.say("into the void")
        assert (await dc.reply()).text == "echo: into the void"
        assert len(dc.sessions[0].resumes) >= 1


async def test_an_outage_refuses_connections_and_keeps_events() -> None:
    async with talking() as (dc, _):
        port = dc.port
        async with dc.outage():
            await dc.wait_for(lambda dc: not dc.sessions[0].is_connected)
            dc.say("said meanwhile")
        assert (await dc.reply()).text == "echo: said meanwhile"
        assert dc.port == port


async def test_tokens_and_intents_are_checked() -> None:
    async with DiscordServer(privileged=()) as dc:
        with pytest.raises(discord.PrivilegedIntentsRequired):
            async with running(dc, Client()):
                pass
        dc.grant("message_content")
        async with running(dc, Client()):
            pass
        dc.revoke()
        with pytest.raises(discord.LoginFailure):
            async with running(dc, Client()):
                pass
        with pytest.raises(ValueError, match="no such privileged"):
            dc.grant("telepathy")
        assert dc.violations == []


async def test_a_revoked_token_ends_the_connection(dc: DiscordServer) -> None:

    async def revoked_while_running() -> None:
        async with running(dc, Client()):
            dc.revoke()
            await dc.wait_for(lambda dc: not dc.sessions[0].is_connected)

    with pytest.raises(discord.ConnectionClosed) as closed:
        await revoked_while_running()
    assert closed.value.code == 4004
    resume = {"token": dc.token, "session_id": dc.sessions[0].id, "seq": 1}
    async with aiohttp.ClientSession() as session:
        for op, body in ((2, IDENTIFY | {"token": dc.token}), (6, resume)):
            socket = await Socket.open(dc, session)
            await socket.send(op, body)
            assert await socket.close_code() == 4004


async def test_without_the_content_intent_only_messages_to_the_bot_are_readable() -> None:
    async with DiscordServer(privileged=()) as dc:
        dc.guild()
        async with running(dc, Client(content=False)) as client:
            own = await cast(Any, client.get_channel(dc.channel().id)).send("mine")
            dc.say("private", attachments=[("a.txt", b"abc")])
            dc.say("unread", channel="general", attachments=[("a.txt", b"abc")])
            dc.say("for you", channel="general", mention=True)
            dc.say("an answer", channel="general", reply_to=dc.channel().by_id[own.id])
            await client.until(lambda: len(client.received) == 4)
            texts = [message.content for message in client.received]
            assert texts == ["private", "", f"{dc.bot.mention} for you", "an answer"]
            assert [len(message.attachments) for message in client.received] == [1, 0, 0, 0]
            history = [message.content async for message in client.received[1].channel.history(oldest_first=True)]
            assert history[:2] == ["mine", ""]


async def test_edits_deletions_reactions_threads_and_guilds_are_events() -> None:
    async with talking() as (dc, client):
        question = dc.say("first", channel="general")
        dc.edit(question, "second")
        dc.react(question, "👍", user="bob")
        dc.unreact(question, "👍", user="bob")
        assert question.reactions == {}
        dc.delete(question)
        thread = dc.thread("Plans", "general", user="bob")
        dc.say("in the thread", thread=thread)
        reply = await dc.reply(thread)
        assert reply.text == "echo: in the thread"
        assert isinstance(client.received[-1].channel, discord.Thread)
        dc.archive(thread)
        dc.kick()
        dc.say("unheard", channel="general")
        dc.join("Elsewhere")
        dc.say("over here", guild="Elsewhere", user="carol")
        await client.until(lambda: client.received[-1].content == "over here")
        wanted = ["message", "message_edit", "raw_reaction_add"]
        wanted += ["raw_reaction_remove", "message_delete", "thread_create", "thread_update"]
        order = [client.event_names.index(event) for event in [*wanted, "guild_remove", "guild_join"]]
        assert order == sorted(order)
        assert "unheard" not in [message.content for message in client.received]


async def test_the_same_event_can_come_twice() -> None:
    async with talking() as (dc, client):
        dc.redeliver(dc.say("once"))
        await dc.reply(count=2)
        assert [message.id for message in client.received] == [client.received[0].id] * 2


WRONG: list[tuple[int, Any, int]] = [
    (2, IDENTIFY | {"token": "wrong"}, 4004),
    (2, {"token": "T", "intents": 1}, 4002),
    (2, IDENTIFY | {"token": "T", "colour": "red"}, 4002),
    (2, IDENTIFY | {"token": "T", "properties": {"$os": "linux"}}, 4002),
    (2, IDENTIFY | {"token": "T", "large_threshold": 9999}, 4002),
    (2, IDENTIFY | {"token": "T", "compress": "x"}, 4002),
    (1, "5", 4002),
    (1, True, 4002),
    (2, IDENTIFY | {"token": "T", "intents": 1 << 40}, 4013),
    (2, IDENTIFY | {"token": "T", "intents": 1 << 8}, 4014),
    (2, IDENTIFY | {"token": "T", "shard": [2, 2]}, 4010),
    (3, {}, 4003),
    (6, {"token": "T"}, 4002),
    (6, {"token": "wrong", "session_id": "x", "seq": 1}, 4004),
    (99, None, 4001),
]


@pytest.mark.parametrize(("op", "body", "code"), WRONG)
async def test_errors_close_with_their_code(op: int, body: Any, code: int) -> None:
    async with DiscordServer("T") as dc, aiohttp.ClientSession() as session:
        socket = await Socket.open(dc, session)
        await socket.send(op, body)
        assert await socket.close_code() == code
        assert [violation.call for violation in dc.violations] == [f"gateway op {op}"] * (code not in (4004, 4014))


async def test_a_client_without_heartbeats_is_disconnected() -> None:
    async with DiscordServer(heartbeat_interval=0.05) as dc, aiohttp.ClientSession() as session:
        dc._gateway.grace = 0.05
        socket = await Socket.identified(dc, session)
        assert await socket.close_code() == 4009
        assert [violation.call for violation in dc.violations] == ["gateway op 1"]


async def test_heartbeats_acknowledge_only_sent_sequences() -> None:
    async with DiscordServer() as dc, aiohttp.ClientSession() as session:
        socket = await Socket.identified(dc, session)
        await socket.send(1, dc.sessions[0].seq)
        await socket.send(1, dc.sessions[0].seq + 1)
        assert await socket.close_code() == 4002
        assert len(dc.sessions[0].heartbeats) == 1


async def test_too_many_and_repeated_frames_close_the_connection() -> None:
    async with DiscordServer() as dc, aiohttp.ClientSession() as session:
        socket = await Socket.open(dc, session)
        await socket.socket.send_str("{")
        assert await socket.close_code() == 4002
        socket = await Socket.identified(dc, session)
        await socket.send(2, IDENTIFY)
        assert await socket.close_code() == 4005
        socket = await Socket.identified(dc, session)
        for _ in range(120):
            await socket.send(1, None)
        assert await socket.close_code() == 4008


async def test_expired_sessions_cannot_be_resumed() -> None:
    async with DiscordServer() as dc, aiohttp.ClientSession() as session:
        socket = await Socket.identified(dc, session)
        await socket.socket.close(code=1000)
        await dc.wait_for(lambda dc: dc.sessions[0].ended)
        away = await Socket.identified(dc, session)
        await away.socket.close(code=4000)
        await dc.wait_for(lambda dc: not dc.sessions[1].is_connected)
        dc.advance(600)
        ahead = await Socket.identified(dc, session)
        await ahead.socket.close(code=4000)
        first, second, third = [one.id for one in dc.sessions]
        for session_id, seq in ((first, 1), ("session-none", 1), (second, 1), (third, 99)):
            socket = await Socket.open(dc, session)
            await socket.send(6, {"token": dc.token, "session_id": session_id, "seq": seq})
            assert json.loads((await socket.socket.receive()).data) == {"op": 9, "d": False, "s": None, "t": None}
        assert dc.violations == []
