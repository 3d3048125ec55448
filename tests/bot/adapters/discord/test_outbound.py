"""Replies: pieces, files, buttons, previews, threads, and duplicates."""

from __future__ import annotations

import time

import pytest

from bot.adapters.discord.parts import MAX_NONCE_CHARACTERS, MAX_PIECES
from bot.platform import SendLater, SendRefused
from routing.types.messages import Button, ChatKey, Document, OutboundMessage, UserKey
from tests.bot.adapters.discord.client import Sender, connected_client, to
from tests.servers.discord import DiscordServer

BUTTONS = ((Button("Balanced", "/tier balanced"), Button("Smart", "/tier smart")), (Button("Auto", "/tier auto"),))
CODE = "```python\n" + "print('line')\n" * 200 + "```"
POST, PATCH = "/channels/{channel_id}/messages", "/channels/{channel_id}/messages/{message_id}"


async def test_a_long_answer_arrives_in_pieces_and_in_order(dc: DiscordServer, sender: Sender) -> None:
    text = f"{CODE}\n\n" + "A sentence of many words. " * 100
    sent = await sender.send(to(dc.dm(), text, buttons=BUTTONS))
    replies = dc.dm().from_bot()
    assert [part.message_id for part in sent] == [str(reply.id) for reply in replies]
    assert [part.last for part in sent] == [False] * (len(sent) - 1) + [True]
    assert [str(reply.nonce)[8:] for reply in replies] == [f"-7-{number}" for number in range(len(sent))]
    assert replies[0].text.startswith("```python\nprint")
    assert replies[0].text.endswith("\n```")
    assert replies[1].text.startswith("```python\nprint")
    assert "A sentence" in replies[-1].text
    assert [bool(reply.buttons) for reply in replies] == [False] * (len(sent) - 1) + [True]


async def test_a_reply_resumes_at_the_missing_piece(dc: DiscordServer, sender: Sender) -> None:
    text = "word " * 1000
    await sender.send(to(dc.dm(), text), outbox_id=7)
    whole = [message.text for message in dc.dm().from_bot()]
    sent = await sender.send(to(dc.dm(), text), outbox_id=8, first=1)
    rest = [message.text for message in dc.dm().from_bot()][len(whole) :]
    assert len(whole) == 3
    assert rest == whole[1:]
    assert len(sent) == 2


async def test_very_long_output_is_a_file_with_its_beginning(dc: DiscordServer, sender: Sender) -> None:
    text = "**word** and more " * 1000
    (sent,) = await sender.send(to(dc.dm(), text, buttons=BUTTONS))
    message = await dc.reply()
    assert sent.last
    assert message.text.endswith("\n…")
    assert len(message.text) > 1500
    (file,) = message.attachments
    assert (file.name, file.data.decode()) == ("answer.md", text)
    assert message.buttons
    fitting = "x" * 1900 + "\n\n"
    assert len(await sender.send(to(dc.dm(), fitting * MAX_PIECES), outbox_id=8)) == MAX_PIECES


async def test_a_document_comes_with_the_text(dc: DiscordServer, sender: Sender) -> None:
    document = Document("history.md", "# All\n\nürgh")
    await sender.send(to(dc.dm(), "Here **it** is.", document=document))
    message = await dc.reply()
    assert message.text == "Here **it** is."
    assert [(file.name, file.data.decode()) for file in message.attachments] == [("history.md", document.text)]


async def test_a_refused_file_is_explained_in_a_sentence(dc: DiscordServer, sender: Sender) -> None:
    general = dc.channel()
    dc.forbid(general, "attach_files")
    await sender.send(to(general, "Here it is.", document=Document("history.md", "x")))
    message = await dc.reply(general)
    assert message.text == "Here it is.\n⚠️ history.md: Missing Permissions"
    assert not message.attachments
    dc.fault("POST /channels/*/messages", "refuse", status=413, code=40005, text="Request entity too large")
    await sender.send(to(dc.dm(), "y" * 1780, document=Document("a.md", "x")), outbox_id=8)
    assert (await dc.reply()).text == "y" * 1780 + "\n⚠️ a.md: Request entity too large"


async def test_without_file_permission_the_answer_is_text_also_after_a_restart(
    dc: DiscordServer, sender: Sender
) -> None:
    general = dc.channel()
    dc.forbid(general, "attach_files")
    message = to(general, "\n\n".join(f"{number} " + "word " * 300 for number in range(8)), buttons=BUTTONS)
    sent = await sender.send(message)
    messages = [reply.text for reply in general.from_bot()]
    assert [text[0] for text in messages] == list("01234567")
    assert [part.last for part in sent] == [False] * 7 + [True]
    await sender.send(message, outbox_id=8, first=6)
    assert [reply.text for reply in general.from_bot()[8:]] == messages[6:]


ATTACHED = "📎 {name} is attached."
LONG_CODE = "print('line')\n" * 400


async def test_long_code_becomes_files_in_one_message(dc: DiscordServer, sender: Sender) -> None:
    text = f"One:\n\n```python\n{LONG_CODE}```\n\nTwo:\n\n```js\n{LONG_CODE}```"
    (sent,) = await sender.send(to(dc.dm(), text, buttons=BUTTONS, attached=ATTACHED))
    message = await dc.reply()
    assert sent.last
    assert message.buttons
    assert message.text == "One:\n\n📎 `main.py` is attached.\n\nTwo:\n\n📎 `main.js` is attached."
    files = [(file.name, file.data.decode()) for file in message.attachments]
    assert files == [("main.py", LONG_CODE), ("main.js", LONG_CODE)]
    assert len(await sender.send(to(dc.dm(), CODE, attached=ATTACHED), outbox_id=8)) == 2


async def test_without_file_permission_code_is_text(caplog: pytest.LogCaptureFixture) -> None:
    async with connected_client() as sender:
        general = sender.dc.channel()
        sender.dc.forbid(general, "attach_files")
        message = to(general, f"One:\n\n```python\n{LONG_CODE}```", attached=ATTACHED)
        (sent,) = await sender.send(message)
        reply, *code = general.from_bot()
        assert reply.text == "One:\n\n📎 `main.py` is attached.\n⚠️ main.py: Missing Permissions"
        assert all(each.text.startswith("```python\nprint") for each in code)
        assert sent.message_id == str(code[-1].id)
        assert "".join(each.text for each in code).count("print('line')") == 400
    assert "Discord refused a file: Missing Permissions" in caplog.text


async def test_code_sent_instead_of_refused_files_resumes_after_an_interruption() -> None:
    """However late: after two minutes Discord accepts the same nonce again."""
    now = [time.time()]
    async with connected_client(clock=lambda: now[0]) as sender:
        general = sender.dc.channel()
        sender.dc.forbid(general, "attach_files")
        sender.dc.fault("POST /channels/*/messages", "server_error", status=503, skip=3)
        message = to(general, f"One:\n\n```python\n{LONG_CODE}```", attached=ATTACHED)
        with pytest.raises(SendLater):
            await sender.send(message)
        now[0] += 600
        await sender.send(message)
        reply, *code = general.from_bot()
        assert reply.text.startswith("One:")
        assert all(each.text.startswith("```python") for each in code)
        assert "".join(each.text for each in code).count("print('line')") == 400


async def test_without_send_permission_that_is_the_reported_reason(dc: DiscordServer, sender: Sender) -> None:
    dc.forbid("general", "send_messages")
    for text in ("short", "word " * 3000):
        with pytest.raises(SendRefused, match="can't write"):
            await sender.send(to(dc.channel(), text, document=Document("a.md", "x")))


async def test_buttons_deliver_presses_and_are_removed_with_the_next_text(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "Choose", buttons=BUTTONS), outbox_id=4711)
    menu = await dc.reply()
    assert [[b["label"] for b in row["components"]] for row in menu.components] == [["Balanced", "Smart"], ["Auto"]]
    pressed = dc.press(menu, "Smart")
    assert pressed.data["custom_id"] == "t:4711:0.1"
    origin = await sender.defer(pressed)
    (sent,) = await sender.send(to(dc.dm(), "Smart it is", edits=origin.pack()), outbox_id=4712)
    assert sent.message_id == str(menu.id)
    assert menu.text == "Smart it is"
    assert menu.components == []


async def test_many_buttons_become_a_menu(dc: DiscordServer, sender: Sender) -> None:
    models = tuple((Button(f"provider/model-{n}", f"/model smart provider/model-{n}"),) for n in range(30))
    rows = (*models, (Button("low", "x"), Button("high", "y")), (Button("Back", "/model"),))
    await sender.send(to(dc.dm(), "Which?", buttons=rows), outbox_id=5)
    menu = await dc.reply()
    first, second, third = menu.selects
    assert (len(first["options"]), len(second["options"]), len(third["options"])) == (25, 5, 1)
    assert [button["label"] for button in menu.buttons] == ["low", "high"]
    chosen = dc.choose(menu, second["custom_id"], ["provider/model-27"])
    assert chosen.data["values"] == ["t:5:27.0"]


async def test_a_reply_is_sent_even_if_its_message_was_deleted(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.say("hm?", channel="general", mention=True)
    await sender.send(to(asked.channel, "yes", reply_to=str(asked.id)))
    assert (await dc.reply(asked)).reply_to is asked
    dc.delete(asked)
    await sender.send(to(asked.channel, "still", reply_to=str(asked.id)), outbox_id=8)
    assert (await dc.reply(asked)).reply_to is None
    other = dc.say("and now?", channel="general", mention=True)
    dc.forbid(asked.channel, "read_message_history")
    await sender.send(to(asked.channel, "sure", reply_to=str(other.id)), outbox_id=9)
    assert (await dc.reply(asked)).reply_to is None


async def test_replies_in_direct_messages_quote_nothing(dc: DiscordServer, sender: Sender) -> None:
    asked = dc.say("hm?")
    await sender.send(to(asked.channel, "yes", reply_to=str(asked.id)))
    assert (await dc.reply()).reply_to is None


async def test_a_preview_is_replaced(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "half an ans"), outbox_id=6)
    shown = await dc.reply()
    text = "half an answer " * 200
    sent = await sender.send(to(dc.dm(), text, edits=str(shown.id), buttons=BUTTONS))
    assert sent[0].message_id == str(shown.id)
    assert shown.text.endswith("answer")
    assert len(sent) == 2
    last = await dc.reply()
    assert str(last.nonce).endswith("-7-1")
    assert last.buttons
    assert not shown.buttons


@pytest.mark.parametrize("code", [10008, 50005, 50083, 30046])
async def test_an_uneditable_message_is_sent_again(dc: DiscordServer, sender: Sender, code: int) -> None:
    await sender.send(to(dc.dm(), "half"), outbox_id=6)
    shown = await dc.reply()
    dc.fault("PATCH /channels/*/messages/*", "refuse", status=404 if code == 10008 else 403, code=code)
    (sent,) = await sender.send(to(dc.dm(), "whole", edits=str(shown.id)))
    assert sent.message_id == str((await dc.reply(matching="whole")).id) != str(shown.id)


async def test_a_deleted_thread_is_answered_in_its_channel(dc: DiscordServer, sender: Sender) -> None:
    thread = dc.thread("Soup", dc.channel())
    await sender.send(to(thread, "in here"))
    shown = await dc.reply(thread)
    dc.archive(thread)
    await sender.send(to(thread, "awake", edits=str(shown.id)), outbox_id=8)
    assert (await dc.reply(thread)).text == "awake"
    assert not thread.archived
    dc.fault(f"POST /channels/{thread.id}/messages", "refuse", status=404, code=10003, text="Unknown Channel")
    await sender.send(to(thread, "out here"), outbox_id=9)
    assert (await dc.reply("general")).text == "out here"


async def test_a_message_with_a_lost_response_is_found_by_its_nonce(dc: DiscordServer, sender: Sender) -> None:
    message = to(dc.dm(), "once")
    dc.fault("POST /channels/*/messages", "drop_after")
    with pytest.raises(SendLater) as caught:
        await sender.send(message)
    assert caught.value.maybe_sent
    assert caught.value.protected
    dc.advance(100)
    (sent,) = await sender.send(message, again=True)
    (only,) = dc.dm().from_bot()
    assert (only.text, str(only.id)) == ("once", sent.message_id)


async def test_a_repeated_message_with_an_expired_nonce_is_marked(dc: DiscordServer, sender: Sender) -> None:
    message = to(dc.dm(), "# Twice?")
    dc.fault("POST /channels/*/messages", "drop_after")
    with pytest.raises(SendLater):
        await sender.send(message)
    dc.advance(100)
    dc.fault("POST /channels/*/messages", "rate_limit", retry_after=60)
    with pytest.raises(SendLater):  # this one certainly did not arrive; the first may have
        await sender.send(message, again=True)
    dc.advance(60)
    await sender.send(message)
    assert [reply.text for reply in dc.dm().from_bot()] == ["# Twice?", "(recovered)\n# Twice?"]


async def test_after_a_restart_the_questions_age_decides_about_the_mark(dc: DiscordServer, sender: Sender) -> None:
    young, old = dc.say("young"), dc.say("old")
    await sender.send(to(dc.dm(), "a", reply_to=str(young.id)), again=True)
    dc.advance(121)
    await sender.send(to(dc.dm(), "b", reply_to=str(old.id)), outbox_id=8, again=True)
    await sender.send(to(dc.dm(), "word " * 700), outbox_id=9, first=1, again=True)
    await sender.send(to(dc.dm(), "word " * 700), outbox_id=10, again=True)
    texts = [reply.text[:16] for reply in dc.dm().from_bot()]
    assert texts == ["a", "(recovered) b", "(recovered) word", "(recovered) word", "word word word w"]


async def test_a_complete_preview_is_not_edited(dc: DiscordServer, sender: Sender) -> None:
    await sender.send(to(dc.dm(), "same"), outbox_id=6)
    shown = await dc.reply()
    sender.context.keep_shown(str(shown.id), "same", {"id": str(shown.id), "content": "same"})
    (sent,) = await sender.send(to(dc.dm(), "same", edits=str(shown.id)))
    assert sent.message_id == str(shown.id)
    assert dc.calls("PATCH", PATCH) == []
    sender.context.keep_shown(str(shown.id), "same", {"id": str(shown.id), "content": "older"})
    await sender.send(to(dc.dm(), "same", edits=str(shown.id)), outbox_id=8)
    assert len(dc.calls("PATCH", PATCH)) == 1


async def test_edits_of_a_message_are_spaced() -> None:
    async with connected_client(pace={"edit_gap": 0.3}) as sender:
        await sender.send(to(sender.dc.dm(), "half"), outbox_id=6)
        shown = await sender.dc.reply()
        sender.context.keep_shown(str(shown.id), "half", {"id": str(shown.id), "content": "half"})
        await sender.send(to(sender.dc.dm(), "whole", edits=str(shown.id)))
        before, after = shown.versions
        assert after.at - before.at >= 0.3


async def test_invisible_text_is_not_sent(dc: DiscordServer, sender: Sender) -> None:
    with pytest.raises(SendRefused, match="no visible content"):
        await sender.send(to(dc.dm(), " \n "))
    assert dc.calls("POST", POST) == []


async def test_replies_ping_no_one(dc: DiscordServer, sender: Sender) -> None:
    role, bob = dc.role("staff"), dc.user("bob")
    text = f"@everyone @here {bob.mention} {role.mention} <@!{bob.id}> `@everyone`\n```\n@here {bob.mention}\n```"
    await sender.send(to(dc.channel(), text, buttons=((Button("@everyone", "/help"),),)))
    message = await dc.reply("general")
    assert "@everyone " not in message.text
    assert f"<@{bob.id}> " not in message.text
    await sender.send(to(dc.channel(), f"{text} again", edits=str(message.id)), outbox_id=8)
    written = [call.body for call in dc.requests if call.method in ("POST", "PATCH")]
    assert [body["allowed_mentions"] for body in written] == [{"parse": []}] * 2


async def test_a_person_without_a_channel_gets_a_direct_message(dc: DiscordServer, sender: Sender) -> None:
    """Notices to owners are addressed to a person, not to a channel."""
    bea = dc.user("Bea")
    notice = OutboundMessage(ChatKey.of(UserKey("discord", str(bea.id))), "Somebody asks to come in.")
    for number in (7, 8):
        await sender.send(notice, number)
    assert [message.text for message in dc.dm(bea).from_bot()] == ["Somebody asks to come in."] * 2
    assert len(dc.calls("POST", "/users/@me/channels")) == 1


async def test_nonces_differ_between_databases(dc: DiscordServer, sender: Sender) -> None:
    """Restored from a backup, the outbox reuses ids."""
    one, other = dc.say("one"), dc.say("other")
    for question, text in ((one, "same"), (other, "same"), (other, "same"), (other, "another")):
        await sender.send(to(dc.dm(), text, reply_to=str(question.id)), outbox_id=123_456_789_012)
    assert [reply.text for reply in dc.dm().from_bot()] == ["same", "same", "another"]
    assert {len(str(reply.nonce)) for reply in dc.dm().from_bot()} <= set(range(MAX_NONCE_CHARACTERS + 1))
