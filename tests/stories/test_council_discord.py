"""A council on Discord: yes and votes by buttons, and progress in the message that becomes the answer."""

from __future__ import annotations

import pytest

from tests.servers.discord import DiscordServer
from tests.stories.councils import ASKED, CLAUDE, GEMINI, GPT, Members, at, enable_council
from tests.stories.discord_bot import up
from tests.stories.harness import BotHarness, running, settled
from tests.stories.test_linking import code, only_telegram_has_owners, written

pytestmark = pytest.mark.usefixtures("own_clients")


async def test_a_council_by_its_slash_command(on: BotHarness, dc: DiscordServer) -> None:
    enable_council(on, members=Members(synthesis="Spaces."), above=0.01)
    gate = on.ms.gate(when=at("gemini", "answers"))
    async with running(on) as app:
        await up(dc, app)
        offer = await dc.reply(dc.slash("council", {"council": "Tabs or spaces?"}))
        assert offer.text.startswith("🏛 Shall I ask ")
        assert [each["label"] for each in offer.buttons][1] == "Cancel"
        yes = offer.buttons[0]["label"]
        assert yes.startswith("🏛 Ask 3 models · about $0.")
        assert on.ms.calls == []
        dc.press(offer, yes)
        await gate.reached(60.0)
        channel = offer.channel
        await dc.wait_for(
            lambda _: any("answers 2/3" in each.text and GEMINI in each.text for each in channel.from_bot())
        )
        gate.open()
        await dc.wait_for(lambda _: any(each.text.startswith("Spaces.") for each in channel.from_bot()))
        await settled(on)
        answer = next(each for each in channel.from_bot() if each.text.startswith("Spaces."))
        assert f"🏛 3 of 3 answered. `{GPT}` wrote the final answer." in answer.text
        dc.press(answer, "🗳 Votes")
        await dc.wait_for(lambda _: any(each.attachments for each in channel.from_bot()))
    [file] = [file for each in channel.from_bot() for file in each.attachments]
    assert file.name == "council.md"
    assert f"`{CLAUDE}`" in file.data.decode()


async def test_one_council_at_a_time_across_a_persons_platforms(on: BotHarness, dc: DiscordServer) -> None:
    only_telegram_has_owners(on)
    enable_council(on)
    gate = on.ms.gate(when=at("openai", "answers"))
    async with running(on) as app:
        await up(dc, app)
        await written(dc, "hello", "ali")
        linked = await written(dc, f"/access link {await code(on)}", "ali")
        await dc.wait_for(lambda _: any(each.text == "You said: hello" for each in linked.channel.from_bot()))
        message = on.tg.say(ASKED)
        await gate.reached(60.0)
        assert (await written(dc, ASKED, "ali")).text.startswith("You already have a council running")
        gate.open()
        assert (await on.tg.reply(message, after=message)).text.startswith("All agree.")
    assert len(on.ms.calls) == 8, "seven of the council, and one for the message that waited for the link"
