"""/connect on Discord, and for one person on two platforms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.servers.discord import DiscordServer, Message
from tests.servers.radicale import PASSWORD, USER, RadicaleServer
from tests.stories.accounts import ADDRESS, UNREAD, radicale
from tests.stories.discord_bot import up
from tests.stories.harness import BotHarness, ask, running
from tests.stories.test_linking import code, confirmed, linked, only_telegram_has_owners, written


@asynccontextmanager
async def on_both(on: BotHarness, dc: DiscordServer) -> AsyncIterator[RadicaleServer]:
    """The bot on Telegram and Discord, open to everyone, and a calendar server that everyone may use."""
    only_telegram_has_owners(on)
    on.env |= {"BOT_ACCESS": "open", "ACCOUNT_HOSTS": "127.0.0.1"}
    with radicale(on) as server:
        async with running(on) as app:
            await up(dc, app)
            yield server


async def test_a_person_connects_in_two_chats_at_once(on: BotHarness, dc: DiscordServer) -> None:
    async with on_both(on, dc) as server:
        await ask(on, "/whoami", user="bob")
        await written(dc, "/whoami", "bobby")
        await linked(dc, await code(on, "bob"))
        await ask(on, "/connect calendar", user="bob")
        assert ADDRESS in (await written(dc, "/connect calendar", "bobby")).text
        for said in (server.address, USER):
            await ask(on, said, user="bob")
        assert "✅ Connected" in (await ask(on, PASSWORD, user="bob")).text
        assert "not a web address" in (await written(dc, PASSWORD, "bobby")).text, "still a question here"
        assert on.ms.calls == []
    assert PASSWORD.encode() not in on.data.content()


async def test_a_password_in_another_chat_is_not_read(on: BotHarness, dc: DiscordServer) -> None:
    async with on_both(on, dc) as server:
        await ask(on, "/whoami", user="bob")
        await written(dc, "/whoami", "bobby")
        await linked(dc, await code(on, "bob"))
        await ask(on, "/connect calendar", user="bob")
        await ask(on, server.address, user="bob")
        assert (await written(dc, "hi", "bobby")).text == "You said: hi", "only a password is secret"
        await ask(on, USER, user="bob")
        assert (await written(dc, "hey", "carol")).text == "You said: hey", "another person"
        told = (await written(dc, PASSWORD, "bobby")).text
        assert told.startswith("🔑 I am waiting for a password in another chat with you (Telegram).")
        assert PASSWORD not in str([call.body for call in on.ms.calls])
        assert (await written(dc, "hello", "bobby")).text == "You said: hello", "it is told once"
        assert "✅ Connected" in (await ask(on, PASSWORD, user="bob")).text
    assert PASSWORD.encode() not in on.data.content()


async def test_linking_moves_a_step_to_the_one_person(on: BotHarness, dc: DiscordServer) -> None:
    async with on_both(on, dc) as server:
        await ask(on, "/whoami", user="bob")
        given = await code(on, "bob")
        asked = await written(dc, f"/access link {given}", "bobby")
        for said in ("/connect calendar", server.address, USER):
            await written(dc, said, "bobby")
        await confirmed(dc, asked)
        assert "✅ Connected" in (await written(dc, PASSWORD, "bobby")).text
        assert f"✅ Calendar: {USER}" in (await ask(on, "/connect", user="bob")).text


async def test_discord_asks_to_delete_the_password(on: BotHarness, dc: DiscordServer) -> None:
    with radicale(on) as server:
        async with running(on) as app:
            await up(dc, app)
            for said in ("/connect calendar", server.address, USER):
                await written(dc, said, "alice")
            done = await written(dc, PASSWORD, "alice")
            assert "✅ Connected and tested: Calendar" in done.text
            assert done.text.endswith("🧹 Please delete your message with the password now.")
            assert on.ms.calls == []
    assert PASSWORD.encode() not in on.data.content()


async def test_a_quoted_password_is_not_read(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        await written(dc, "/connect calendar", "alice")
        secret = dc.say(PASSWORD, user="alice")
        assert "not a web address" in (await dc.reply(secret, after=secret)).text
        await written(dc, "/stop", "alice")
        quoting = dc.say("What is this?", user="alice", reply_to=secret)
        assert (await dc.reply(quoting, after=quoting)).text == "You said: What is this?"
        assert PASSWORD not in str(on.ms.last.body)
    assert PASSWORD.encode() not in on.data.content()


async def test_a_password_is_entered_in_a_form_on_discord(on: BotHarness, dc: DiscordServer) -> None:
    with radicale(on) as server:
        async with running(on) as app:
            await up(dc, app)
            for said in ("/connect calendar", server.address):
                await written(dc, said, "alice")
            asked = await written(dc, USER, "alice")
            assert "Enter it with the button, then it is not in our chat." in asked.text
            wrong = await entered(dc, asked, "not my password")
            assert "refuses the user name or the password" in wrong.text
            assert "🧹" not in wrong.text
            done = await entered(dc, wrong, "/help is my password")
            assert "refuses the user name or the password" in done.text, "a form holds no commands"
            done = await entered(dc, done, PASSWORD)
            assert "✅ Connected and tested: Calendar" in done.text
            assert "🧹" not in done.text
            assert UNREAD in (await entered(dc, asked, PASSWORD)).text, "an old button"
            assert on.ms.calls == []
            assert on.rows("select count(*) from messages") == [(0,)]
    for secret in (PASSWORD, "not my password", "/help is my password"):
        assert secret.encode() not in on.data.content()


async def entered(dc: DiscordServer, asked: Message, text: str) -> Message:
    """The reply to what is entered in the form of a question."""
    opened = dc.press(asked, "🔑 Enter it")
    await dc.wait_for(lambda _: opened.modal)
    sent = dc.submit(opened, {"text": text})
    await dc.wait_for(lambda _: sent.answers and not sent.answers[0].loading)
    return sent.answers[0]
