"""Replies: formatting, pieces, buttons, repairs, and what each failure tells the outbox."""

from __future__ import annotations

import pytest

from bot.platform import SendLater, SendRefused
from routing.types.messages import Button, ChatKey
from tests.bot.adapters.harness import answered_or_late
from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform, to
from tests.servers.telegram import TelegramServer
from tests.servers.telegram.faults import Kind

BUTTONS = ((Button("Balanced", "/tier balanced"), Button("Smart", "/tier smart")), (Button("Auto", "/tier auto"),))
CODE = "```python\n" + "print('line')\n" * 400 + "```"


async def test_a_long_answer_arrives_in_pieces_and_in_order(tg: TelegramServer, harness: TelegramHarness) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    text = f"{CODE}\n\n{table}\n\n" + "A sentence of many words. " * 200
    sent = await harness.send(to(tg.private(), text))
    replies = tg.private().from_bot()
    assert [part.message_id for part in sent] == [str(reply.id) for reply in replies]
    assert [part.last for part in sent] == [False] * (len(sent) - 1) + [True]
    assert len(replies) > 2
    fences = [next(entity for entity in reply.entities if entity["type"] == "pre") for reply in replies[:2]]
    assert [fence.get("language") for fence in fences] == ["python", "python"]
    assert "A sentence" in replies[-1].text


async def test_a_reply_resumes_at_the_missing_piece(tg: TelegramServer, harness: TelegramHarness) -> None:
    text = "word " * 2000
    whole = [m.text for m in (await harness.send(to(tg.private(), text)), tg.private().from_bot())[1]]
    sent = await harness.send(to(tg.private(), text), first=1)
    rest = [message.text for message in tg.private().from_bot()][len(whole) :]
    assert rest == whole[1:]
    assert len(sent) == len(rest)


async def test_buttons_are_below_the_last_piece_and_deliver_presses(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    await harness.send(to(tg.private(), "word " * 1000, buttons=BUTTONS), outbox_id=4711)
    first, last = tg.private().from_bot()
    assert first.buttons == []
    assert last.reply_markup == {
        "inline_keyboard": [
            [
                {"text": "Balanced", "callback_data": "t:4711:0.0"},
                {"text": "Smart", "callback_data": "t:4711:0.1"},
            ],
            [{"text": "Auto", "callback_data": "t:4711:1.0"}],
        ]
    }
    tg.press("Smart")
    pressed = await harness.until()
    assert (pressed.kind, pressed.text) == ("press", "t:4711:0.1")


async def test_a_reply_is_sent_even_if_its_message_was_deleted(tg: TelegramServer, harness: TelegramHarness) -> None:
    asked = tg.say("@tierbot hm?", group="Team")
    await harness.send(to(asked.chat, "yes", reply_to=str(asked.id)))
    assert (await tg.reply(asked)).reply_to is asked
    asked.deleted = True
    await harness.send(to(asked.chat, "still yes", reply_to=str(asked.id)))
    assert (await tg.reply(asked, matching="still")).reply_to is None


async def test_previews_and_menus_are_replaced(tg: TelegramServer, harness: TelegramHarness) -> None:
    shown = tg.add_message(tg.private(), tg.bot, "half an ans")
    sent = await harness.send(to(tg.private(), "half an answer " * 400, edits=str(shown.id), buttons=BUTTONS))
    assert sent[0].message_id == str(shown.id)
    assert shown.text.endswith("answer")
    assert len(sent) == 2
    (last,) = (message for message in tg.private().from_bot() if message is not shown)
    assert last.buttons


@pytest.mark.parametrize("text", ["message to edit not found", "message can't be edited"])
async def test_an_uneditable_message_is_sent_again(tg: TelegramServer, harness: TelegramHarness, text: str) -> None:
    shown = tg.add_message(tg.private(), tg.bot, "half")
    tg.fault("editMessageText", "bad_request", text=text)
    (sent,) = await harness.send(to(tg.private(), "whole", edits=str(shown.id)))
    assert sent.message_id != str(shown.id)
    assert (await tg.reply(matching="whole")).id == int(sent.message_id)


async def test_an_edit_to_the_same_text_counts_as_done(tg: TelegramServer, harness: TelegramHarness) -> None:
    shown = tg.add_message(tg.private(), tg.bot, "same")
    tg.fault("editMessageText", "bad_request", text="message is not modified: specified new message content")
    (sent,) = await harness.send(to(tg.private(), "same", edits=str(shown.id)))
    assert (sent.message_id, sent.last) == (str(shown.id), True)
    assert tg.calls("sendMessage") == []


async def test_refused_entities_become_plain_text(tg: TelegramServer, harness: TelegramHarness) -> None:
    tg.fault("sendMessage", "bad_request", text="can't parse entities: unsupported start tag")
    await harness.send(to(tg.private(), "**bold** " * 900))
    replies = tg.private().from_bot()
    assert len(replies) > 1
    assert [call.status for call in tg.calls("sendMessage")] == [400, *[200] * len(replies)]
    assert all(reply.entities == [] for reply in replies)
    assert "**" not in replies[0].text


async def test_a_repeated_message_is_marked_and_its_entities_are_shifted(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    await harness.send(to(tg.private(), "**yes**, it is"), again=True)
    reply = await tg.reply()
    assert reply.text == "(recovered) yes, it is"
    assert reply.entities == [{"type": "bold", "offset": 12, "length": 3}]


async def test_the_mark_never_makes_a_piece_too_long(tg: TelegramServer, harness: TelegramHarness) -> None:
    (sent,) = await harness.send(to(tg.private(), "x" * 4096), again=True)
    mark, reply = tg.private().from_bot()
    assert (mark.text, reply.text) == ("(recovered)", "x" * 4096)
    assert sent.message_id == str(reply.id)


async def test_replies_go_to_the_topic_and_general_has_no_id(tg: TelegramServer, harness: TelegramHarness) -> None:
    forum = tg.group("Forum", forum=True)
    topic = tg.topic(forum, "Cooking")
    await harness.send(to(forum, "soup", str(topic.id)))
    assert (await tg.reply(forum)).thread_id == topic.id
    await harness.send(to(forum, "general", "1"))
    assert (await tg.reply(forum)).thread_id is None


async def test_a_reply_to_a_deleted_topic_goes_to_the_group(tg: TelegramServer, harness: TelegramHarness) -> None:
    forum = tg.group("Forum", forum=True)
    topic = tg.topic(forum, "Cooking")
    tg.delete_topic(forum, topic)
    await harness.send(to(forum, "word " * 1000, str(topic.id)))
    assert [message.thread_id for message in forum.from_bot()] == [None, None]
    assert [call.status for call in tg.calls("sendMessage")] == [400, 200, 200]


async def test_a_migrated_group_is_followed_when_sending(tg: TelegramServer, harness: TelegramHarness) -> None:
    old = tg.group("Club", kind="group")
    new = tg.migrate(old)
    await harness.send(to(old, "word " * 1000))
    assert len(new.from_bot()) == 2
    assert (ChatKey("telegram", str(old.id)), str(new.id)) in harness.chats.moves
    assert [call.status for call in tg.calls("sendMessage")] == [400, 200, 200]


async def test_an_unreachable_person_is_a_final_failure(tg: TelegramServer, harness: TelegramHarness) -> None:
    tg.block("bob")
    tg.deactivate("carol")
    for chat, reason in ((tg.private("bob"), "blocked"), (tg.private("carol"), "account was deleted")):
        with pytest.raises(SendRefused, match=reason):
            await harness.send(to(chat, "hello?"))
    stranger = tg.private("dave")
    del tg.chats[stranger.id]
    with pytest.raises(SendRefused, match="chat does not exist"):
        await harness.send(to(stranger, "hello?"))
    tg.fault("sendMessage", "bad_request", text="not enough rights to send text messages to the chat")
    with pytest.raises(SendRefused, match="may not write in that chat"):
        await harness.send(to(tg.private(), "hello?"))
    with pytest.raises(SendRefused, match="no visible content"):
        await harness.send(to(tg.private(), " \n "))


@pytest.mark.parametrize(
    ("kind", "maybe_sent", "seconds"),
    [
        ("hang", True, 30),
        ("hang_after", True, 30),
        ("drop_before", True, 30),
        ("drop_after", True, 30),
        ("server_error", False, None),
        ("unauthorized", False, 60),
        ("too_many", False, 17),
    ],
)
async def test_what_a_failed_send_tells_the_outbox(kind: Kind, maybe_sent: bool, seconds: float | None) -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness:
        fault = tg.fault("sendMessage", kind, retry_after=17, seconds=3600)
        with pytest.raises(SendLater) as caught:
            await answered_or_late(tg, fault, harness.send(to(tg.private(), "hello")))
        assert (caught.value.maybe_sent, caught.value.seconds) == (maybe_sent, seconds)
        assert tg.token not in str(caught.value)


async def test_after_a_timeout_there_is_no_plain_text_retry() -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness:
        fault = tg.fault("sendMessage", "hang", seconds=3600)
        with pytest.raises(SendLater):
            await answered_or_late(tg, fault, harness.send(to(tg.private(), "**hello**")))
        assert len(tg.calls("sendMessage")) == 1


async def test_without_a_connection_a_reply_was_certainly_not_sent() -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness, tg.outage():
        with pytest.raises(SendLater) as caught:
            await harness.send(to(tg.private(), "hello"))
        assert not caught.value.maybe_sent


async def test_an_edit_without_a_response_is_repeated_without_a_mark(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    shown = tg.add_message(tg.private(), tg.bot, "half")
    tg.fault("editMessageText", "drop_before")
    with pytest.raises(SendLater) as caught:
        await harness.send(to(tg.private(), "whole", edits=str(shown.id)))
    assert not caught.value.maybe_sent
    await harness.send(to(tg.private(), "whole", edits=str(shown.id)), again=True)
    assert shown.text == "whole"


async def test_a_429_delays_only_its_chat(tg: TelegramServer, harness: TelegramHarness) -> None:
    tg.fault("sendMessage", "too_many", retry_after=17)
    with pytest.raises(SendLater):
        await harness.send(to(tg.private(), "one"))
    with pytest.raises(SendLater) as caught:
        await harness.send(to(tg.private(), "two"))
    assert caught.value.seconds is not None
    assert 0 < caught.value.seconds <= 17
    await harness.send(to(tg.private("bob"), "three"))
    assert len(tg.calls("sendMessage")) == 2


async def test_a_waiting_message_gets_an_eyes_reaction(tg: TelegramServer, harness: TelegramHarness) -> None:
    message = tg.say("and this?")
    await harness.platform.waiting(await harness.received(message))
    assert message.emoji == ["👀"]
    message.deleted = True
    await harness.platform.waiting(harness.accepted[0])


async def test_a_response_that_trickles_in_times_out() -> None:
    async with TelegramServer() as tg, running_platform(tg, pace={"answer": 0.2, "connect": 0.2}) as harness:
        tg.fault("sendMessage", "drip", seconds=0.05)
        with pytest.raises(SendLater) as caught:
            await harness.send(to(tg.private(), "hello"))
        assert caught.value.maybe_sent
