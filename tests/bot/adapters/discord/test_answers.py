"""Answering interactions: in time, late, too late, and next to the pressed message."""

from __future__ import annotations

import asyncio

import pytest

from bot.adapters.discord.context import InteractionRef
from bot.platform import SendLater
from routing.types.messages import Button, Document
from tests.bot.adapters.discord.client import Sender, to
from tests.servers.discord import DiscordServer

HOOK = "/webhooks/{webhook_id}/{webhook_token}"
ORIGINAL = f"{HOOK}/messages/@original"
MENU = ((Button("Smart", "/tier smart"),),)


@pytest.mark.parametrize("ephemeral", [False, True])
async def test_a_command_is_answered_where_it_was_deferred(dc: DiscordServer, sender: Sender, ephemeral: bool) -> None:
    asked = dc.slash("ask", where="general")
    origin = await sender.defer(asked, ephemeral)
    sent = await sender.send(to(dc.channel(), "word " * 700, reply_to=origin.pack(), buttons=MENU))
    assert asked.message is not None
    assert not asked.message.loading
    assert [part.message_id for part in sent] == [str(asked.message.id), str(asked.followups[0].id)]
    assert [message.ephemeral for message in asked.answers] == [ephemeral] * 2
    assert not asked.message.buttons
    assert asked.followups[0].buttons


async def test_a_long_answer_to_a_command_is_a_file(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask")
    origin = await sender.defer(asked)
    await sender.send(to(dc.dm(), "word " * 3000, reply_to=origin.pack()))
    (answer,) = asked.answers
    assert [file.name for file in answer.attachments] == ["answer.md"]


async def test_an_answer_waits_for_its_deferral(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask")
    packed = InteractionRef(asked.id, asked.token, asked.user.id).pack()
    sending = asyncio.create_task(sender.send(to(dc.dm(), "quick", reply_to=packed)))
    await dc.wait_for(lambda dc: dc.calls("PATCH", ORIGINAL))
    await sender.defer(asked)
    await sending
    assert [answer.text for answer in asked.answers] == ["quick"]
    assert len(dc.dm().from_bot()) == 1


async def test_an_expired_interaction_is_answered_in_the_channel(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask", where="general")
    dc.advance(12)  # longer than a deferral may take
    packed = InteractionRef(asked.id, asked.token, asked.user.id).pack()
    await sender.send(to(dc.channel(), "answer", reply_to=packed))
    assert (await dc.reply("general")).interaction is None
    assert asked.answers == []


async def test_after_fifteen_minutes_the_rest_goes_to_the_channel(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask", where="general")
    origin = await sender.defer(asked)
    dc.advance(901)
    await sender.send(to(dc.channel(), "word " * 700, reply_to=origin.pack()), first=1)
    message = await dc.reply("general")
    assert str(message.nonce).endswith("-7-1")
    assert message.interaction is None
    assert message.reply_to is None
    assert dc.refusals == []


async def test_an_early_token_refusal_falls_back_to_the_channel(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask", where="general")
    await sender.defer(asked)
    packed = InteractionRef(asked.id, "another-token", asked.user.id).pack()
    await sender.send(to(dc.channel(), "answer", reply_to=packed))
    assert (await dc.reply("general")).text == "answer"


async def test_a_deleted_deferred_answer_is_sent_again(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask", where="general")
    origin = await sender.defer(asked)
    assert asked.message is not None
    asked.message.deleted = True
    await sender.send(to(dc.channel(), "answer", reply_to=origin.pack()))
    assert (await dc.reply("general")).text == "answer"


async def test_a_menu_pressed_too_long_ago_is_sent_again(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "Choose", buttons=MENU), outbox_id=6)
    menu = await dc.reply()
    origin = await sender.defer(dc.press(menu, "Smart"))
    dc.advance(901)
    await sender.send(to(dc.dm(), "Chosen", edits=origin.pack(), buttons=MENU))
    again = await dc.reply()
    assert again.text == "Chosen"
    assert again.buttons[0]["custom_id"] == "t:7:0.0"
    assert menu.text == "Choose"


async def test_an_ephemeral_press_gets_an_ephemeral_answer(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask", where="general")
    first = await sender.defer(asked, ephemeral=True)
    await sender.send(to(dc.channel(), "Export?", reply_to=first.pack(), buttons=MENU), outbox_id=6)
    assert asked.message is not None
    pressed = dc.press(asked.message, "Smart")
    origin = await sender.defer(pressed, ephemeral=True)
    answer = to(dc.channel(), "Here it is.", edits=origin.beside().pack(), document=Document("all.md", "x"))
    await sender.send(answer)
    (message,) = pressed.followups
    assert message.ephemeral
    assert message.attachments
    assert asked.message.text == "Export?"


async def test_without_the_bot_in_the_channel_the_interaction_is_used(dc: DiscordServer, sender: Sender) -> None:
    private = dc.private_channel("alice", "bob")
    asked = dc.slash("ask", user="alice", where=private)
    origin = await sender.defer(asked)
    await sender.send(to(private, "word " * 1500, reply_to=origin.pack()))
    assert len(asked.answers) == 4


async def test_a_lost_command_answer_is_repeated_without_a_mark(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.slash("ask")
    message = to(dc.dm(), "word " * 700, reply_to=(await sender.defer(asked)).pack())
    dc.fault("PATCH /webhooks/**", "drop_after")
    with pytest.raises(SendLater) as caught:
        await sender.send(message)
    assert (caught.value.maybe_sent, caught.value.seconds) == (False, None)
    dc.fault("POST /webhooks/**", "drop_after")
    with pytest.raises(SendLater) as caught:
        await sender.send(message, again=True)
    assert (caught.value.maybe_sent, caught.value.seconds) == (True, 30)
    await sender.send(message, first=1, again=True)
    texts = [answer.text[:16] for answer in asked.answers]
    assert texts == ["word word word w", "word word word w", "(recovered) word"]
