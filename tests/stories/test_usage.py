"""`/usage` on each platform: the text, the chart, and what a kill or a refusal leaves of them."""

from __future__ import annotations

from io import BytesIO

from PIL import Image

from routing.types.messages import Button, ChatKey, OutboundMessage
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.stories.discord_bot import shown, up
from tests.stories.forked_cli import forked
from tests.stories.harness import BotHarness, BotProcess, ask, running, settled
from tests.stories.kills import kill_after_first_part

BAR = (0x00, 0x72, 0xB2)
"""The colour of the most used model."""


def drawn(data: bytes) -> bool:
    """Whether a decoded picture contains a bar."""
    with Image.open(BytesIO(data)) as image:
        assert (image.format, image.width) == ("PNG", 1200)
        return BAR in {colour for _, colour in image.getcolors(1 << 20) or ()}


async def test_on_telegram_the_chart_has_the_text_as_its_caption(on: BotHarness) -> None:
    on.config["budget"] = {"perUserDailyUsd": 2}
    async with running(on):
        on.ms.reply("one", usage=(8000, 1000))
        await ask(on, "hi")
        on.ms.reply("two", usage=(8000, 1000))
        await ask(on, "!deep hi")
        reply = await ask(on, "/usage 7d")
        assert drawn(on.tg.picture(reply).data)
        assert on.tg.picture(reply).name == "usage-7d.png"
        lines = reply.text.splitlines()
        assert lines[0] == "Last 7 days"
        assert "• openai/gpt-5.1: 1 call · 8,000 in / 1,000 out · $0.02" in lines
        assert "balanced: 1 call · $0.02" in lines
        assert "deep: 1 call · $0.0280" in lines
        assert lines[-3:] == ["Total: 2 calls · 16,000 in / 2,000 out · $0.0480", "", "Today: $0.0480 of $2.00"]
        everyone = await ask(on, "/usage all")
        assert "• Alice: 2 calls · 16,000 in / 2,000 out · $0.0480" in everyone.text
        assert drawn(on.tg.picture(everyone).data)
        tiers = await ask(on, "/usage tiers")
        assert "deep: 1× · p50 " in tiers.text
        assert "• openai/gpt-5.2: 1× · p50 " in tiers.text
        assert "photo" not in tiers.content


async def test_on_discord_the_chart_is_in_the_command_answer(on: BotHarness, dc: DiscordServer) -> None:
    on.ms.reply("one", usage=(8000, 1000))
    async with running(on) as app:
        await up(dc, app)
        message = dc.say("hi")
        await dc.reply(message, after=message)
        asked = dc.slash("usage", {"usage": "7d"})
        await dc.wait_for(lambda _: shown(asked))
        (answer,) = asked.answers
        (file,) = answer.attachments
    assert "openai/gpt-5.1`: 1 call · 8,000 in / 1,000 out · $0.02" in answer.text
    assert (file.name, file.mime) == ("usage-7d.png", "image/png")
    assert drawn(file.data)


async def test_in_the_terminal_usage_is_text_only(on: BotHarness) -> None:
    on.write_config()
    on.env["TELEGRAM_BOT_TOKEN"] = ""
    async with forked("chat", "--as", "ann", env=on.environment()) as process:
        code, output, _ = await process.ended(b"hello\n/usage 7d\n")
    assert code == 0
    assert "Last 7 days" in output
    assert "PNG" not in output
    ((kept,),) = on.rows(
        "select count(*) from outbox where state = 'sent' and picture is null and payload like '%.png%'"
    )
    assert kept == 1


async def test_a_kill_between_queueing_and_sending_loses_nothing(on: BotHarness) -> None:
    async with BotProcess(on) as bot:
        await ask(on, "hello")
        await settled(on)
        on.tg.fault("sendPhoto", "server_error", times=99)
        message = on.tg.say("/usage 7d")
        await on.tg.wait_for(lambda tg: tg.calls("sendPhoto"))
        await bot.kill()
    assert on.rows("select length(picture) > 1000 from outbox where state != 'sent'") == [(1,)]
    on.tg.clear_faults()
    async with BotProcess(on) as bot:
        reply = await on.tg.reply(message, after=message)
        await until(lambda: on.rows("select 1 from outbox where state != 'sent'") == [])
        assert await bot.terminate() == 0
    assert reply.text.removeprefix("(recovered) ").startswith("Last 7 days")
    assert drawn(on.tg.picture(reply).data)
    assert len(message.chat.from_bot()) == 2


async def test_a_kill_after_the_picture_sends_only_the_text(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
    for number in range(40):  # too much for a caption
        on.change(
            "insert into usage_hours (hour, person_id, conversation_id, tier, model, calls, input_tokens,"
            " output_tokens, cached_tokens, cost_nano, unknown, charged_nano, uncharged_tokens)"
            " select hour, person_id, conversation_id, tier, ?, 1, 1, 1, 0, 0, 0, 0, 0 from usage_hours limit 1",
            f"a/model-{number}",
        )
    message = await kill_after_first_part(on, "/usage 7d", "sendMessage")
    picture, text = message.chat.from_bot()[1:]
    assert drawn(on.tg.picture(picture).data)
    assert picture.text == ""
    assert "a/model-39" in text.text


async def test_a_refused_picture_does_not_stop_the_text(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "hello")
        on.tg.fault("sendPhoto", "bad_request", text="not enough rights to send photos to the chat")
        reply = await ask(on, "/usage 7d")
        assert reply.text.startswith("Last 7 days")
        assert reply.text.endswith("⚠️ usage-7d.png: Not enough rights to send photos to the chat")
        await until(lambda: on.rows("select distinct state, picture from outbox") == [("sent", None)])


async def test_a_usage_button_leaves_its_message_unchanged(on: BotHarness) -> None:
    async with running(on) as app:
        asked = await ask(on, "hello")
        chat = ChatKey("telegram", str(asked.chat.id))
        await app.messaging.outbox.post(
            [OutboundMessage(chat, "Shall I?", owner=1, buttons=((Button("Yes", "/usage"),),))]
        )
        offer = await on.tg.reply(matching="Shall I?")
        on.tg.press("Yes", message=offer)
        reply = await on.tg.reply(matching="Last 24 hours")
        assert drawn(on.tg.picture(reply).data)
        assert offer.text == "Shall I?"
