"""Buttons and menus on Discord: who may use them, and for how long."""

from __future__ import annotations

import pytest

from handlers.replies.callback_buttons import VALID_SECONDS
from tests.servers.discord import DiscordServer, Interaction, Message
from tests.stories.discord_bot import mention, shown, texts, up
from tests.stories.harness import BotHarness, running, settled

pytestmark = pytest.mark.usefixtures("open_access")

FOREIGN = "This button is for someone else."
EXPIRED = "This button has expired. Send the command again."


async def menu(on: BotHarness, dc: DiscordServer, command: str) -> Message:
    """A public command answer with buttons, or with a menu for a tier's models."""
    found = await mention(dc, command.partition(" ")[0])
    await dc.wait_for(lambda _: found.buttons)
    if command != "/tier":
        dc.press(found, "coding")
        await dc.wait_for(lambda _: found.selects)
    await settled(on)
    return found


async def refused(on: BotHarness, dc: DiscordServer, asked: Interaction, sentence: str) -> None:
    """The refusal is shown only to the person who pressed."""
    await dc.wait_for(lambda _: shown(asked) == [sentence])
    await settled(on)
    assert asked.answers[-1].ephemeral
    assert sentence not in texts(dc.channel())


async def test_a_press_by_another_person_is_refused(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        shown_to_all = await menu(on, dc, "/tier")
        await refused(on, dc, dc.press(shown_to_all, "deep", user="bob"), FOREIGN)
        assert shown_to_all.text.startswith("Tier: balanced")
        assert on.rows("SELECT tier FROM preferences") == []
        dc.press(shown_to_all, "deep")
        await dc.wait_for(lambda _: shown_to_all.text.startswith("Tier: deep"))


async def test_a_menu_choice_by_another_person_is_refused(on: BotHarness, dc: DiscordServer) -> None:
    async with running(on) as app:
        await up(dc, app)
        models = await menu(on, dc, "/model coding")
        [select] = models.selects
        before, chosen = models.text, [select["options"][1]["value"]]
        await refused(on, dc, dc.choose(models, select["custom_id"], chosen, user="bob"), FOREIGN)
        assert models.text == before
        assert on.rows("SELECT model FROM overrides") == []
        dc.choose(models, select["custom_id"], chosen)
        await dc.wait_for(lambda _: models.text != before)


@pytest.mark.parametrize("command", ["/tier", "/model coding"])
async def test_an_expired_control_is_refused(on: BotHarness, dc: DiscordServer, command: str) -> None:
    async with running(on, dc.now) as app:
        await up(dc, app)
        old = await menu(on, dc, command)
        before = old.text
        dc.advance(VALID_SECONDS + 60)
        await dc.wait_for(lambda _: dc.sessions[-1].is_connected)
        if old.selects:
            [select] = old.selects
            asked = dc.choose(old, select["custom_id"], [select["options"][1]["value"]])
        else:
            asked = dc.press(old, "deep")
        await refused(on, dc, asked, EXPIRED)
        assert old.text == before
        assert on.rows("SELECT tier FROM preferences") == []
