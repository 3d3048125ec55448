"""make_image: its price is confirmed first, then the picture arrives with the answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from aiohttp import web

from tests.polling import until
from tests.servers.listener import listening
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import BEFORE_HEADERS, Gate
from tests.servers.model.scripting import draws
from tests.servers.model.wire_media import PICTURE
from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, BotProcess, ask, running, settled, tool_results, waiting_files
from tests.stories.office import ONCE, calls, card, pressed

PROMPT = {"prompt": "A fox in the snow, as a watercolour"}
MODEL = "openai/gpt-image-2.5-flare"


async def picture_after_press(on: BotHarness, asked: Message) -> Message:
    """Confirms; returns the message with the picture."""
    on.tg.press(ONCE, message=asked)
    await on.tg.wait_for(lambda _: "photo" in asked.chat.from_bot()[-1].content)
    return asked.chat.from_bot()[-1]


async def test_the_price_is_asked_and_the_picture_arrives(on: BotHarness) -> None:
    on.config["budget"] = {"perUserDailyUsd": 1.5}
    calls(on, "make_image", PROMPT, server="")
    on.ms.draw(usage=(20, 1_000))
    async with running(on):
        asked = await card(on, "Draw me a fox in the snow")
        assert f"🎨 {MODEL} makes the picture for about $0.03" in asked.text
        assert "budget left: $1.50 of $1.50" in asked.text
        assert 'prompt: "A fox in the snow' in asked.text
        assert on.ms.media == []
        shown = await picture_after_press(on, asked)
        assert on.tg.picture(shown).data == PICTURE
        assert "Pictures: 1 call" in (await ask(on, "/usage tiers")).text
        assert "Pictures: 1 call" in (await ask(on, "/usage")).text
    (request,) = on.ms.media
    assert request.body == {
        "model": "gpt-image-2.5-flare",
        "prompt": PROMPT["prompt"],
        "n": 1,
        "size": "1024x1024",
        "quality": "medium",
    }
    assert on.rows("select model, cost_nano from usage where tier = 'image'") == [(MODEL, 20 * 5_000 + 1_000 * 30_000)]
    (saved,) = (on.workspace / "files" / "1" / "pictures").iterdir()
    assert saved.read_bytes() == PICTURE
    assert saved.name.startswith("a-fox-in-the-snow-as-a-watercolour-")


async def killed_after_the_picture(on: BotHarness) -> Message:
    """Confirms a picture and kills the bot when the picture is made and a model is about to answer. Returns the
    card."""
    calls(on, "make_image", PROMPT, server="")
    async with running(on):
        asked = await card(on, "Draw me a fox in the snow")
    on.ms.draw()
    on.ms.gate()
    async with BotProcess(on) as bot:
        on.tg.press(ONCE, message=asked)
        await until(lambda: on.rows("select state from actions") == [("done",)])
        await bot.kill()
    assert len(waiting_files(on)) == 1
    assert on.rows("select model from usage where tier = 'image'") == [(MODEL,)]
    return asked


async def the_only_picture(on: BotHarness, asked: Message, text: str) -> None:
    """Waits for the answer; the picture has arrived once, and was made once."""
    await on.tg.wait_for(lambda _: any(each.text.startswith(text) for each in asked.chat.from_bot()))
    await until(lambda: waiting_files(on) == [])
    await settled(on)
    (shown,) = [each for each in asked.chat.from_bot() if "photo" in each.content]
    assert on.tg.picture(shown).data == PICTURE
    assert len(on.ms.media) == 1
    assert on.rows("select model from usage where tier = 'image'") == [(MODEL,)]


async def test_a_kill_before_the_answer_does_not_lose_the_picture(on: BotHarness) -> None:
    asked = await killed_after_the_picture(on)
    on.ms.clear()
    calls(on, "make_image", PROMPT, server="")
    async with running(on):
        await the_only_picture(on, asked, "Done: The picture is attached")


async def test_each_picture_of_a_turn_that_begins_again_is_paid(on: BotHarness) -> None:
    on.config["tools"] = {"allow": ["make_image"]}
    calls(on, "make_image", PROMPT, server="")

    def has_result(request: ModelRequest) -> bool:
        return not request.is_media and "The picture is attached" in request.reading.turns[-1][1]

    gate = on.ms.reply("Here it is.", gate_after=BEFORE_HEADERS, when=has_result)
    async with BotProcess(on) as bot:
        said = on.tg.say("Draw me a fox in the snow")
        await gate.reached()
        assert on.rows("select count(*) from usage where tier = 'image'") == [(1,)]
        await bot.kill()
    async with running(on):
        await on.tg.wait_for(lambda _: any("photo" in each.content for each in said.chat.from_bot()))
        await settled(on)
    assert len(on.ms.media) == 2
    assert on.rows("select count(*), count(distinct turn_id) from usage where tier = 'image'") == [(2, 2)]


async def test_a_picture_still_arrives_after_a_month_and_another_kill(on: BotHarness) -> None:
    asked = await killed_after_the_picture(on)
    for change in (
        "UPDATE outbox SET created_at = created_at - {month}",
        "UPDATE actions SET expires_at = expires_at - {month}",
        "UPDATE inbox SET received_at = received_at - {month}",
        "INSERT INTO actions SELECT 99, person_id, conversation_id, tool, toolkit, arguments, digest, note, tier, "
        "'waiting', '', '', 0, '[]' FROM actions",
    ):
        on.change(change.format(month=30 * 86_400))
    ((payload, received_at),) = on.rows("SELECT payload, received_at FROM inbox WHERE state = 'waiting'")
    old = json.loads(str(payload)) | {"sent_at": received_at}
    on.change("UPDATE inbox SET payload = ? WHERE state = 'waiting'", json.dumps(old))
    (kept,) = waiting_files(on)
    os.utime(on.workspace / "outgoing" / kept, (0, 0))
    on.ms.gate()
    async with BotProcess(on) as bot:
        await until(lambda: on.rows("select id from actions") == [(1,)])  # swept
        await until(lambda: on.rows("select attempts from inbox where state = 'waiting'") == [(1,)])
        await bot.kill()
    async with running(on):
        await the_only_picture(on, asked, "make_image returned:\n\nThe picture is attached")
        assert "I was interrupted 2 times" in asked.chat.from_bot()[-1].text


async def test_no_picture_is_made_over_the_budget(on: BotHarness) -> None:
    on.config["budget"] = {"perUserDailyUsd": 0.02}
    on.env["TIER_BALANCED_POOL"] = "openai/gpt-4o-mini"
    on.ms.call_tools([("make_image", PROMPT)])
    on.ms.call_tools([("make_image", PROMPT)])
    async with running(on):
        assert "🔐" not in (await ask(on, "Draw me a fox in the snow")).text
        assert "No model was asked" in tool_results(on)[-1]
    assert on.ms.media == []


async def test_what_can_go_wrong_is_told(on: BotHarness) -> None:
    on.env["IMAGE_MODEL"] = "openai/gpt-image-2"
    calls(on, "make_image", PROMPT, server="")
    wrong: dict[str, Callable[[], Gate]] = {
        "refuses this prompt by its content rules": lambda: on.ms.fail(400, "content_policy_violation", when=draws),
        "too many requests": lambda: on.ms.fail(429, when=draws),
        "its answer can't be read": lambda: on.ms.draw(b"not a picture"),
        "its picture can't be fetched": lambda: on.ms.draw(url="http://127.0.0.1:9/a.png"),
    }
    async with running(on):
        for reason, script in wrong.items():
            script()
            await ask(on, "/new")
            answer = await pressed(on, ONCE, await card(on, "Draw me a fox in the snow"))
            assert "No picture was made" in answer.text
            assert reason in answer.text
    assert on.rows("select count(*) from usage where tier = 'image'") == [(0,)]


async def test_the_next_model_steps_in_if_it_costs_no_more(on: BotHarness) -> None:
    on.env["IMAGE_MODEL"] = f"{MODEL}, openai/gpt-image-1, openai/gpt-image-2"
    calls(on, "make_image", PROMPT, server="")
    on.ms.fail(500, when=draws)
    async with running(on):
        shown = await picture_after_press(on, await card(on, "Draw me a fox in the snow"))
        assert on.tg.picture(shown).data == PICTURE
    assert [call.model for call in on.ms.media] == ["gpt-image-2.5-flare", "gpt-image-2"]


async def test_without_a_model_the_tool_is_off_and_says_why(on: BotHarness) -> None:
    on.env["IMAGE_MODEL"] = "off"
    async with running(on):
        assert "make_image is off: no provider with a key can make pictures" in (await ask(on, "/status full")).text
        await ask(on, "Draw me a fox in the snow")
    assert "make_image" not in on.ms.last.reading.tool_names


async def test_a_picture_that_is_sent_as_an_address_is_fetched(on: BotHarness) -> None:
    async def serve(request: web.BaseRequest) -> web.Response:
        return web.Response(body=PICTURE, content_type="image/png")

    calls(on, "make_image", PROMPT, server="")
    async with listening(serve) as base:
        on.env["WEB_PRIVATE_HOSTS"] = "127.0.0.1"
        on.ms.draw(url=f"{base}/a.png")
        async with running(on):
            shown = await picture_after_press(on, await card(on, "Draw me a fox in the snow"))
            assert on.tg.picture(shown).data == PICTURE
