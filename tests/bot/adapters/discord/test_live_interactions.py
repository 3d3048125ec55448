"""Previews of answers to commands and button presses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.adapters.discord.context import InteractionRef
from routing.types.messages import Button
from tests.bot.adapters.discord.client import Sender, asked, to
from tests.servers.discord import DiscordServer


async def test_a_command_streams_into_its_deferred_answer_without_typing(dc: DiscordServer, sender: Sender) -> None:
    interaction = dc.slash("ask", where="general")
    origin = await sender.defer(interaction)
    live = sender.live(asked(interaction, origin))
    await live.working()
    await dc.wait_for_change(0.1)
    live.show("one")
    await dc.wait_for(lambda _: interaction.answers and interaction.answers[0].text == "one")
    live.show("one two")
    await dc.wait_for(lambda _: interaction.answers[0].text == "one two")
    assert interaction.message is not None
    assert dc.typing == []
    assert [await live.close()] == sender.kept == [str(interaction.message.id)], "after the token's end it is edited"
    before = len(dc.requests)
    (sent,) = await sender.send(to(dc.channel(), "one two", reply_to=origin.pack()))
    assert interaction.message is not None
    assert sent.message_id == str(interaction.message.id)
    assert len(dc.requests) == before


async def test_a_turn_from_a_button_streams_into_a_new_message(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "failed", buttons=((Button("Retry", "/retry"),),)), outbox_id=6)
    message = await dc.reply()
    pressed = dc.press(message, "Retry")
    live = sender.live(asked(pressed, await sender.defer(pressed)))
    await live.acknowledge()
    await live.working()
    live.show("one")
    shown = await dc.reply(matching="one")
    assert await live.close() == str(shown.id)
    assert message.text == "failed"
    assert pressed.followups == []


async def test_a_press_on_an_ephemeral_message_stays_ephemeral(dc: DiscordServer, sender: Sender) -> None:
    interaction = dc.slash("ask", where="general")
    first = await sender.defer(interaction, ephemeral=True)
    menu = to(dc.channel(), "mine", reply_to=first.pack(), buttons=((Button("Go", "/retry"),),))
    await sender.send(menu, outbox_id=6)
    assert interaction.message is not None
    pressed = dc.press(interaction.message, "Go")
    origin = await sender.defer(pressed, ephemeral=True)
    live = sender.live(asked(pressed, origin))
    await live.working()
    live.show("one")
    await dc.wait_for(lambda _: dc.typing)
    placeholder = await live.close()
    assert placeholder == origin.beside().pack()
    assert dc.calls("POST", "/channels/{channel_id}/messages") == []
    await sender.send(to(dc.channel(), "one two", edits=placeholder))
    assert [message.ephemeral for message in pressed.followups] == [True]


async def test_a_press_notice_is_private_and_shown_once(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.channel(), "Choose", buttons=((Button("Smart", "/tier smart"),),)), outbox_id=6)
    menu = await dc.reply("general")
    pressed = dc.press(menu, "Smart", user="bob")
    live = sender.live(asked(pressed, await sender.defer(pressed)))
    await live.acknowledge("This button is for @everyone else." * 100)
    await live.acknowledge("again")
    await live.close()
    await dc.wait_for(lambda _: pressed.followups)
    (notice,) = pressed.followups
    assert notice.ephemeral
    assert notice.text.startswith("This button")
    assert len(notice.text) == 2000
    silent = dc.press(menu, "Smart")
    live = sender.live(asked(silent, await sender.defer(silent)))
    await live.acknowledge()
    await live.close()
    assert silent.followups == []


async def test_an_expired_interaction_streams_into_its_channel(dc: DiscordServer, sender: Sender) -> None:
    interaction = dc.slash("ask", where="general")
    origin = await sender.defer(interaction)
    dc.advance(901)
    live = sender.live(asked(interaction, origin))
    live.show("one")
    shown = await dc.reply("general")
    assert await live.close() == str(shown.id)
    await sender.send(to(dc.channel(), "one two", reply_to=origin.pack(), edits=str(shown.id)))
    assert shown.text == "one two"
    assert shown.reply_to is None


@pytest.mark.parametrize("pressed", [False, True])
async def test_a_late_ephemeral_answer_has_no_public_preview(dc: DiscordServer, sender: Sender, pressed: bool) -> None:
    interaction = dc.slash("ask", where="general")
    origin = replace(await sender.defer(interaction, ephemeral=True), component=pressed)
    live = sender.live(asked(interaction, origin))
    live.show("one")
    dc.advance(901)
    live.show("one two")
    await live.working()
    await dc.wait_for(lambda _: dc.typing)
    assert await live.close() == (origin.beside().pack() if pressed else "")
    assert dc.calls("POST", "/channels/{channel_id}/messages") == []
    assert sender.kept == []


def test_an_origin_round_trips_as_text() -> None:
    for origin in (
        InteractionRef(5, "a:b/c", 1, ephemeral=True),
        InteractionRef(1 << 63, "x", 7, "de", True, False, True),
    ):
        assert InteractionRef.unpack(origin.pack()) == origin
    for text in ("", "1234567890", "i:5:", "i:5::", "i:5:::en:x", "i:5::7:en:", "t:7:0.0"):
        assert InteractionRef.unpack(text) is None
    at = 1420070400.0 + 1000
    origin = InteractionRef(1000_000 << 22, "x", 7)
    assert origin.alive(at + 869)
    assert not origin.alive(at + 871)
