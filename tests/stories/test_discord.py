"""The whole bot on Discord: the same router and commands, nothing lost or duplicated."""

from __future__ import annotations

import base64

import pytest

from tests.polling import until
from tests.servers.discord import DiscordServer, Message
from tests.servers.discord.faults import Kind
from tests.stories.discord_bot import hurried, up
from tests.stories.harness import BotHarness, BotProcess, running

__all__ = ["hurried"]


async def answered(dc: DiscordServer, question: Message) -> Message:
    """The reply, once its text is final."""
    return await dc.reply(question, after=question, matching=lambda message: not message.text.endswith(" …"))


async def test_a_direct_message_is_answered_and_remembered(on: BotHarness, dc: DiscordServer) -> None:
    on.ms.reply("Hello Alice.")
    on.ms.reply("You said hello.")
    async with running(on) as app:
        await up(dc, app)
        assert (await answered(dc, dc.say("hello"))).text == "Hello Alice."
        assert (await answered(dc, dc.say("what did I say?"))).text == "You said hello."
    assert [message["content"] for message in on.ms.last.body["messages"][-3:]] == [
        "hello",
        "Hello Alice.",
        "what did I say?",
    ]


async def test_a_mention_gets_a_streamed_answer(on: BotHarness, dc: DiscordServer) -> None:
    on.env["BOT_ACCESS"] = "open"
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with running(on) as app:
        await up(dc, app)
        message = dc.say("count", channel="general", mention=True)
        await gate.reached(60.0)
        half = await dc.reply(message, after=message)
        await dc.wait_for(lambda _: half.text.startswith("one two") and half.text != "one two three four")
        assert dc.typing
        gate.open()
        await dc.wait_for(lambda _: half.text == "one two three four")
    assert message.channel.from_bot() == [half]
    assert half.reply_to is message
    assert len(half.versions) >= 2
    assert on.ms.last.last_user_text == "count", "the mention is removed from the question"


async def test_messages_not_addressed_to_the_bot_are_ignored(on: BotHarness, dc: DiscordServer) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on) as app:
        await up(dc, app)
        dc.say("among ourselves", channel="general")
        message = dc.say("you", channel="general", mention=True)
        await answered(dc, message)
    assert [call.last_user_text for call in on.ms.calls] == ["you"]


async def test_a_slash_command_is_deferred_answered_and_stored(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        asked = dc.slash("tier", {"tier": "smart", "force": True})
        reply = await dc.reply(asked)
        assert asked.deferred
        assert reply.text.splitlines()[0] == "Tier: smart, Force: on"
    assert on.rows("select tier, force from preferences") == [("smart", 1)]


async def test_a_model_is_chosen_from_what_is_suggested_while_typing(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        choices = await dc.autocomplete("model set", {"tier": "coding", "model": "gpt-5.2"}, focused="model")
        assert "openai/gpt-5.2" in [each["value"] for each in choices]
        assert len(choices) <= 25
        reply = await dc.reply(dc.slash("model set", {"tier": "coding", "model": "openai/gpt-5.2"}))
        assert reply.text.startswith("✅ coding now uses `openai/gpt-5.2`.")


async def test_a_menu_is_redrawn_after_a_restart(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        menu = await dc.reply(dc.slash("tier"))
        dc.press(menu, "deep")
        await dc.wait_for(lambda _: menu.text.startswith("Tier: deep"))
    async with running(on) as app:
        await up(dc, app)
        dc.press(menu, "smart")
        await dc.wait_for(lambda _: menu.text.startswith("Tier: smart"))
    assert len(dc.calls("PUT", "/applications/{application_id}/commands")) == 1, "registered once"


async def test_the_owner_admits_a_stranger_with_a_button(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        message = dc.say("hello", user="bob")
        assert "This bot is private. Your code is" in (await answered(dc, message)).text
        asked = await dc.reply(dc.dm(), matching="wants to use me")
        dc.press(asked, "✅ Allow")
        await dc.reply(message.channel, matching="You may use me now")
        await dc.reply(message.channel, matching="You said: hello")
    assert len(on.ms.calls) == 1


async def test_without_the_intent_mentions_and_commands_still_work(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with DiscordServer(privileged=()) as dc:
        on.env |= {
            "DISCORD_BOT_TOKEN": dc.token,
            "DISCORD_API_ROOT": dc.root,
            "DISCORD_GATEWAY_URL": dc.gateway,
        }
        async with running(on) as app:
            await up(dc, app)
            assert (await answered(dc, dc.say("hi", channel="general", mention=True))).text == "You said: hi"
            assert (await dc.reply(dc.slash("tier", where="general"))).text.startswith("Tier: balanced")
        assert dc.violations == []


async def test_a_thread_is_a_separate_conversation(on: BotHarness, dc: DiscordServer) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on) as app:
        await up(dc, app)
        await answered(dc, dc.say("in the channel", channel="general", mention=True))
        thread = dc.thread("aside")
        await answered(dc, dc.say("in the thread", thread=thread, mention=True))
        assert [m["content"] for m in on.ms.last.body["messages"] if m["role"] == "user"] == ["in the thread"]
        await answered(dc, dc.say("go on", thread=thread))
        assert [m["content"] for m in on.ms.last.body["messages"] if m["role"] == "user"] == ["in the thread", "go on"]


@pytest.mark.parametrize("text", ["@everyone wake up", "@here", "<@1001> and <@&77>", "`@everyone`"])
async def test_model_output_pings_no_one(on: BotHarness, dc: DiscordServer, text: str) -> None:
    on.env["BOT_ACCESS"] = "open"
    on.ms.reply(text)
    async with running(on) as app:
        await up(dc, app)
        reply = await answered(dc, dc.say("hi", channel="general", mention=True))
        assert not (reply.pings.users)
        assert not (reply.pings.roles)
        assert not (reply.pings.everyone)


async def test_messages_sent_while_offline_are_answered(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        await answered(dc, dc.say("first"))
    missed = dc.say("are you there?")
    async with running(on) as app:
        await up(dc, app)
        assert (await answered(dc, missed)).text == "You said: are you there?"
    assert [call.last_user_text for call in on.ms.calls] == ["first", "are you there?"]


@pytest.mark.parametrize("fault", ["reconnect", "invalid", "invalid, resumable", "cut"])
async def test_a_gateway_that_fails_loses_and_doubles_nothing(
    on: BotHarness, dc: DiscordServer, hurried: None, fault: str
) -> None:
    async with running(on) as app:
        await up(dc, app)
        await answered(dc, dc.say("before"))
        match fault:
            case "reconnect":
                dc.ask_reconnect()
            case "cut":
                dc.cut_gateway()
            case _:
                dc.invalidate("resumable" in fault)
        during = dc.say("during")
        assert (await dc.reply(during, after=during)).text == "You said: during"
    assert [call.last_user_text for call in on.ms.calls] == ["before", "during"]


@pytest.mark.parametrize("kind", ["rate_limit", "rate_limit_global"])
async def test_a_rate_limit_only_delays_an_answer(on: BotHarness, dc: DiscordServer, kind: Kind) -> None:
    async with running(on) as app:
        await up(dc, app)
        dc.fault("POST /channels/*/messages", kind, times=2, retry_after=0.3)
        message = dc.say("hello")
        assert (await answered(dc, message)).text == "You said: hello"
    assert len(message.channel.from_bot()) == 1


async def test_a_wrong_discord_token_is_one_sentence_and_telegram_continues(
    on: BotHarness, dc: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    on.env["DISCORD_BOT_TOKEN"] = "wrong.token.of-no-bot"
    async with BotProcess(on) as bot:
        assert "Discord refuses DISCORD_BOT_TOKEN" in (await on.tg.reply()).text
        assert bot.log.count("Discord refuses DISCORD_BOT_TOKEN") == 1
        assert "Traceback" not in bot.log
        message = on.tg.say("still there?")
        assert (await on.tg.reply(message, after=message)).text == "You said: still there?"
        assert await bot.terminate() == 0


async def test_after_a_kill_mid_stream_the_same_message_continues(on: BotHarness, dc: DiscordServer) -> None:
    on.env["BOT_ACCESS"] = "open"
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with BotProcess(on) as bot:
        await dc.ready(60)
        message = dc.say("count", channel="general", mention=True)
        await gate.reached(60.0)
        half = await dc.reply(message, after=message)
        await until(lambda: on.rows("SELECT placeholder FROM inbox") == [(str(half.id),)])
        await bot.kill()
    on.ms.reply("one two three four")
    async with BotProcess(on) as bot:
        await dc.wait_for(lambda _: half.text == "one two three four", 60)
        assert await bot.terminate() == 0
    assert message.channel.from_bot() == [half]


async def test_a_picture_reaches_a_vision_model_and_a_document_is_read(on: BotHarness, dc: DiscordServer) -> None:
    red = b"\x89PNG red"
    async with running(on) as app:
        await up(dc, app)
        await answered(dc, dc.say("what is this?", attachments=[("red.png", red, "image/png")]))
        assert base64.b64encode(red).decode() in str(on.ms.last.body)
        await answered(dc, dc.say("sum it up", attachments=[("notes.txt", b"the moon is far", "text/plain")]))
        assert "the moon is far" in on.ms.last.last_user_text
        assert "sum it up" in on.ms.last.last_user_text
