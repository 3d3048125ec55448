"""Pictures: with the text, as the answer to a command, and refused."""

from __future__ import annotations

import pytest

from bot.platform import SendLater
from routing.types.messages import Document, Picture
from tests.bot.adapters.discord.client import Sender, to
from tests.servers.discord import DiscordServer, Message

CHART = Picture("usage.png", b"\x89PNG\r\n\x1a\n and more")
TALK = Document("talk.md", "# Talk")


def shown(message: Message) -> list[tuple[str, str, bytes]]:
    return [(file.name, file.mime, file.data) for file in message.attachments]


async def test_a_picture_is_sent_with_the_text(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "**Last** week", picture=CHART))
    message = await dc.reply()
    assert message.text == "**Last** week"
    assert shown(message) == [("usage.png", "image/png", CHART.data)]


async def test_a_long_text_has_the_picture_in_its_last_message_also_after_a_restart(
    dc: DiscordServer, sender: Sender
) -> None:
    reply = to(dc.dm(), "word " * 700, picture=CHART)
    sent = await sender.send(reply)
    assert [len(message.attachments) for message in dc.dm().from_bot()] == [0, 1]
    assert [part.last for part in sent] == [False, True]
    (again,) = await sender.send(reply, outbox_id=8, first=1)
    assert again.last
    assert [len(message.attachments) for message in dc.dm().from_bot()] == [0, 1, 1]


@pytest.mark.parametrize("ephemeral", [False, True])
async def test_a_command_answer_has_the_picture(dc: DiscordServer, sender: Sender, ephemeral: bool) -> None:
    asked = dc.slash("ask", where="general")
    origin = await sender.defer(asked, ephemeral)
    await sender.send(to(dc.channel(), "Last week", reply_to=origin.pack(), picture=CHART))
    (answer,) = asked.answers
    assert (answer.text, answer.ephemeral) == ("Last week", ephemeral)
    assert shown(answer) == [("usage.png", "image/png", CHART.data)]


async def test_picture_and_document_are_sent_together(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "both", picture=CHART, document=TALK))
    message = await dc.reply()
    assert [(name, data) for name, _, data in shown(message)] == [
        ("usage.png", CHART.data), ("talk.md", TALK.text.encode()),
    ]  # fmt: skip


async def test_a_refused_picture_does_not_stop_the_text(dc: DiscordServer, sender: Sender) -> None:
    general = dc.channel()
    dc.forbid(general, "attach_files")
    (sent,) = await sender.send(to(general, "Last week", picture=CHART))
    message = await dc.reply(general)
    assert message.text == "Last week\n⚠️ usage.png: Missing Permissions"
    assert not message.attachments
    assert (sent.message_id, sent.last) == (str(message.id), True)
    asked = dc.slash("ask", where=general)
    origin = await sender.defer(asked)
    dc.fault("PATCH /webhooks/**", "refuse", status=413, code=40005, text="Request entity too large")
    await sender.send(to(general, "Last week", reply_to=origin.pack(), picture=CHART), outbox_id=8)
    (answer,) = asked.answers
    assert answer.text == "Last week\n⚠️ usage.png: Request entity too large"
    assert not answer.attachments


async def test_a_picture_that_may_have_arrived_is_not_repeated(dc: DiscordServer, sender: Sender) -> None:
    reply = to(dc.dm(), "Last week", picture=CHART)
    dc.fault("POST /channels/*/messages", "drop_after")
    with pytest.raises(SendLater) as caught:
        await sender.send(reply)
    assert caught.value.maybe_sent
    await sender.send(reply, again=True)
    (message,) = dc.dm().from_bot()
    assert message.text == "Last week"
    assert len(message.attachments) == 1
