"""Driving the loopback Discord: from tests, without delays, and by typing."""

import asyncio
import subprocess
import sys
from pathlib import Path

import aiohttp
import discord
import pytest
from blockbuster import blockbuster_ctx

from bot.config.environment import load
from tests.servers.discord import DiscordServer
from tests.servers.discord.__main__ import run_line
from tests.servers.discord.rules import MAX_FILE
from tests.servers.discord.schema import schema
from tests.servers.discord.sdk import Raw, raw, strange_answers, talking

ROOT = Path(__file__).resolve().parents[2]


async def test_replies_come_in_order_and_only_once(dc: DiscordServer, http: Raw) -> None:
    question = dc.say("hello")
    send = f"POST /channels/{question.channel.id}/messages"
    for text in ("one", "two", "three"):
        await http.call(send, {"content": text})
    assert (await dc.reply()).text == "one"
    assert [message.text for message in await dc.reply(question.channel, after=question, count=2)] == ["two", "three"]
    waiting = asyncio.create_task(dc.reply("alice" and dc.user(), matching="final"))
    sent = (await http.call(send, {"content": "…"}))[1]
    await http.call(f"PATCH /channels/{question.channel.id}/messages/{sent['id']}", {"content": "final text"})
    assert str((await waiting).id) == sent["id"]


async def test_a_failed_wait_shows_the_log(dc: DiscordServer, http: Raw) -> None:
    message = dc.say("is anybody there?", channel="general")
    row = {"type": 1, "components": [{"type": 2, "style": 1, "label": "Go", "custom_id": "go"}]}
    await http.call(f"POST /channels/{message.channel.id}/messages", {"content": "yes", "components": [row]})
    with pytest.raises(AssertionError) as failure:
        await dc.wait_for(lambda dc: False, timeout=0.01)
    assert "Team #general" in str(failure.value)
    assert "Alice: 'is anybody there?'" in str(failure.value)
    assert "tierbot [buttons Go]: 'yes'" in dc.transcript(message.channel)


async def test_users_and_channels_are_as_given(dc: DiscordServer) -> None:
    bob = dc.user("bob")
    assert dc.user("Bob") is bob
    assert dc.user(bob.id) is bob
    assert dc.user("alice").id == dc.user().id == 1001
    message = dc.say("hi", user=bob, channel="general", mention=bob)
    assert message.text == f"{bob.mention} hi"
    assert message.channel is dc.channel() is dc.channel(message.channel.id)
    assert message.channel.guild is dc.guild("Team") is dc.guild(dc.guild().id)
    assert bob.id in dc.guild().members
    assert dc.say("x", user=bob).channel is dc.dm(bob)
    assert dc.say("x", channel=bob).channel is dc.dm("bob")
    answer = dc.say("x", user="carol", reply_to=message)
    assert answer.channel is message.channel
    assert answer.pings.users == {bob.id}
    assert dc.say("x", guild="Other").channel.guild is dc.guild("Other")
    assert dc.private_channel("bob", "carol") is dc.private_channel("bob", "carol") is not dc.dm("bob")
    assert dc.thread("T") is dc.thread("T")
    assert dc.role("Staff") is dc.role("Staff")
    with pytest.raises(ValueError, match=r"message\.txt"):
        dc.say("x" * 2001)
    with pytest.raises(ValueError, match="larger"):
        dc.say("x", attachments=[("big", b"x" * (MAX_FILE + 1))])
    with pytest.raises(KeyError):
        dc.forbid("general", "breathe")
    assert [channel.id for channel in dc.channels.values()] == sorted(dc.channels)


async def test_nothing_in_the_server_blocks_the_loop() -> None:
    schema.cache_clear()
    with blockbuster_ctx():
        async with DiscordServer() as dc, aiohttp.ClientSession() as session:
            message = dc.say("x", attachments=[("a.txt", b"abc")])
            form = aiohttp.FormData(quote_fields=False)
            form.add_field("payload_json", '{"content": "x"}', content_type="application/json")
            form.add_field("files[0]", b"abc", filename="a.txt")
            address = f"{dc.root}/channels/{message.channel.id}/messages"
            async with session.post(address, data=form, headers={"Authorization": f"Bot {dc.token}"}) as answer:
                assert answer.status == 200, await answer.text()
            async with session.get(message.attachments[0].url) as answer:
                assert await answer.read() == b"abc"
            async with session.ws_connect(f"{dc.gateway}?v=10&encoding=json&compress=zlib-stream") as socket:
                assert isinstance((await socket.receive()).data, bytes)


async def test_the_schema_is_read_at_the_first_call_only() -> None:
    schema.cache_clear()
    async with DiscordServer() as dc, raw(dc) as http:
        assert schema.cache_info().misses == 0
        for _ in range(3):
            await http.call("GET /users/@me")
        assert schema.cache_info().misses == 1


async def test_server_responses_match_the_schema(dc: DiscordServer, http: Raw) -> None:
    assert (await http.call("GET /users/@me"))[0] == 200
    assert strange_answers(dc) == []
    del dc.requests[0].answer["username"]
    assert "'username' is a required property" in strange_answers(dc)[0]


async def test_an_outage_refuses_connections(dc: DiscordServer, http: Raw) -> None:
    async with dc.outage():
        assert not dc.is_up
        with pytest.raises(aiohttp.ClientConnectorError):
            await http.call("GET /users/@me")
    assert (await http.call("GET /users/@me"))[0] == 200


async def test_a_person_can_type() -> None:
    async with talking() as (dc, client):

        @client.tree.command(description="Counts.")
        async def count(asked: discord.Interaction, to: int, loud: bool = False) -> None:
            view = discord.ui.View()
            view.add_item(discord.ui.Button(label="More", custom_id="more"))
            await asked.response.send_message(f"{to} {loud}", view=view)

        await client.tree.sync()
        run_line(dc, "")
        assert (await dc.reply(run_line(dc, "good day"))).text == "echo: good day"
        assert dc.bot.mention in (await dc.reply(run_line(dc, "@general hello"))).text
        with pytest.raises(LookupError, match="no message"):
            run_line(dc, "!press More")
        assert (await dc.reply(run_line(dc, "/count to=3 loud=true"))).text == "3 True"
        assert run_line(dc, "!press More").data["custom_id"] == "more"
        run_line(dc, "!react 👍")
        newest = max(dc.dm().from_bot(), key=lambda message: message.id)
        assert list(newest.reactions) == ["👍"]
        run_line(dc, "!unreact 👍")
        assert newest.reactions == {}
        run_line(dc, "!reconnect")
        await dc.wait_for(lambda dc: dc.sessions[0].resumes)


async def test_people_can_cause_errors() -> None:
    async with talking() as (dc, client):
        assert (await dc.reply(run_line(dc, "bob: hello"))).text == "echo: hello"
        message = run_line(dc, "bob: @general hello")
        assert message.author is dc.user("bob")
        assert message.channel is dc.channel()
        thread = run_line(dc, "!thread Plans hello").channel
        assert thread is dc.thread("Plans")
        assert (await dc.reply(thread)).text.endswith("hello")
        run_line(dc, "!forbid general send_messages attach_files")
        assert dc.channel().forbidden == {"send_messages", "attach_files"}
        run_line(dc, "!allow general send_messages")
        assert dc.channel().forbidden == {"attach_files"}
        before = dc.now()
        run_line(dc, "!advance 3600")
        assert dc.now() - before >= 3600
        run_line(dc, '!fault "POST /channels/*/messages" rate_limit')
        await dc.reply(run_line(dc, "delayed"))
        assert [call.status for call in dc.calls("POST") if call.status == 429] == [429]
        run_line(dc, "!kick")
        await client.until(lambda: "guild_remove" in client.event_names)
        with pytest.raises(LookupError, match="no such command"):
            run_line(dc, "!dance")


def test_the_server_runs_as_a_program(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.servers.discord", "--port", "0"],
        cwd=ROOT,
        input="hello\n/nothing\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    variables = dict(line.split("=", 1) for line in ran.stdout.splitlines() if line.startswith("DISCORD_"))
    settings = load({"WORKSPACE": str(tmp_path)} | variables).settings  # as the bot that it is printed for
    assert settings.discord_bot_token is not None
    assert len(variables) == 3
    assert settings.discord_bot_token.get_secret_value() == variables["DISCORD_BOT_TOKEN"]
    assert settings.discord_api_root.startswith("http://127.0.0.1:")
    assert settings.discord_api_root.endswith("/api/v10")
    assert settings.discord_gateway_url.startswith("ws://127.0.0.1:")
    assert "? /nothing is not registered" in ran.stdout
    assert ran.stdout.endswith("bye\n")
