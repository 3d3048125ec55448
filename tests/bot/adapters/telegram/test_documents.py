"""Sending documents: long texts, long code as a file, topics, and refused files."""

from __future__ import annotations

import pytest

from bot.platform import SendLater, SendRefused
from routing.types.messages import Document
from tests.bot.adapters.harness import answered_or_late
from tests.bot.adapters.telegram.harness import TelegramHarness, running_platform, to
from tests.bot.adapters.telegram.test_outbound import BUTTONS
from tests.servers.telegram import TelegramServer
from tests.servers.telegram.faults import Kind

TALK = Document("talk.md", "# Talk ✓\n")


@pytest.mark.parametrize(("length", "messages"), [(1024, [1024]), (1025, [1025, 0]), (5000, [4096, 904, 0])])
async def test_a_text_too_long_for_a_caption_is_sent_first(
    tg: TelegramServer, harness: TelegramHarness, length: int, messages: list[int]
) -> None:
    reply = to(tg.private(), "x" * length, document=TALK, buttons=BUTTONS)
    sent = await harness.send(reply)
    replies = tg.private().from_bot()
    assert [len(message.text) for message in replies] == messages
    assert [message.captioned for message in replies] == [False] * (len(messages) - 1) + [True]
    assert [part.last for part in sent] == [message.captioned for message in replies]
    assert [bool(message.buttons) for message in replies] == [message.captioned for message in replies]
    (again,) = await harness.send(reply, first=len(messages) - 1, again=True)
    last = tg.private().from_bot()[-1]
    assert again.last
    assert tg.document(last).data == TALK.text.encode()
    assert last.text == ("(recovered)" if len(messages) > 1 else "x" * 1024)


async def test_caption_length_is_counted_like_telegram(tg: TelegramServer, harness: TelegramHarness) -> None:
    await harness.send(to(tg.private(), "🙂" * 513, document=TALK))
    assert [message.captioned for message in tg.private().from_bot()] == [False, True]
    await harness.send(to(tg.private("bob"), f"**{'🙂' * 512}**", document=TALK))
    assert [message.captioned for message in tg.private("bob").from_bot()] == [True]


async def test_a_repeated_documents_mark_fits_the_caption(tg: TelegramServer, harness: TelegramHarness) -> None:
    await harness.send(to(tg.private(), "see **this**", document=TALK), again=True)
    (message,) = tg.private().from_bot()
    assert message.text == "(recovered) see this"
    assert message.entities == [{"type": "bold", "offset": 16, "length": 4}]
    await harness.send(to(tg.private("bob"), "x" * 1020, document=TALK), again=True)
    mark, document = tg.private("bob").from_bot()
    assert (mark.text, document.text) == ("(recovered)", "x" * 1020)


async def test_without_a_text_the_preview_stays_and_the_document_follows(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    shown = tg.add_message(tg.private(), tg.bot, "the answer")
    (sent,) = await harness.send(to(tg.private(), "", edits=str(shown.id), document=TALK))
    assert (sent.last, shown.text) == (True, "the answer")
    assert tg.document(tg.private().from_bot()[-1]).name == "talk.md"


async def test_a_document_follows_a_moved_chat_and_a_deleted_topic(
    tg: TelegramServer, harness: TelegramHarness
) -> None:
    forum = tg.group("Forum", forum=True)
    topic, gone = tg.topic(forum, "Cooking"), tg.topic(forum, "Gone")
    await harness.send(to(forum, "soup", str(topic.id), document=TALK))
    assert (await tg.reply(forum)).thread_id == topic.id
    tg.delete_topic(forum, gone)
    await harness.send(to(forum, "cake", str(gone.id), document=TALK))
    assert (await tg.reply(forum)).thread_id is None
    old = tg.group("Club", kind="group")
    new = tg.migrate(old)
    await harness.send(to(old, "tea", document=TALK))
    assert tg.document(new.from_bot()[-1]).data == TALK.text.encode()
    assert [call.status for call in tg.calls("sendDocument")] == [200, 400, 200, 400, 200]


async def test_a_document_obeys_flood_control() -> None:
    async with TelegramServer() as tg, running_platform(tg, flood_limit="1/min per chat") as harness:
        for _ in range(3):
            await harness.send(to(tg.private(), "hello", document=TALK))
        with pytest.raises(SendLater, match="flood limit"):
            await harness.send(to(tg.private(), "hello", document=TALK))
        assert len(tg.calls("sendDocument")) == 3


@pytest.mark.parametrize(
    ("kind", "error", "reason"),
    [
        ("bad_request", "not enough rights to send documents to the chat", "the bot may not send files in that chat"),
        ("too_large", "the file is too large for the server", "the file is too large for the server"),
    ],
)
async def test_a_refused_file_is_explained(
    tg: TelegramServer, harness: TelegramHarness, kind: Kind, error: str, reason: str
) -> None:
    tg.fault("sendDocument", kind, text=error)
    with pytest.raises(SendRefused, match=f"(?i){reason}"):
        await harness.send(to(tg.private(), "here it is", document=TALK))
    (reply,) = tg.private().from_bot()
    assert reply.text.lower() == f"here it is\n⚠️ talk.md: {error}"


CODE = "print('line')\n" * 700
ATTACHED = "📎 {name} is attached."


async def test_long_code_becomes_a_file_with_text_and_buttons(tg: TelegramServer, harness: TelegramHarness) -> None:
    reply = to(tg.private(), f"Run **it**:\n\n```python\n{CODE}```", buttons=BUTTONS, attached=ATTACHED)
    (sent,) = await harness.send(reply)
    (message,) = tg.private().from_bot()
    assert sent.last
    assert message.text == "Run it:\n\n📎 main.py is attached."
    assert message.buttons
    file = tg.document(message)
    assert (file.name, file.data.decode()) == ("main.py", CODE)


async def test_code_files_are_separate_pieces_and_not_repeated(tg: TelegramServer, harness: TelegramHarness) -> None:
    text = f"One:\n\n```python\n{CODE}```\n\nTwo:\n\n```js\n{CODE}```"
    reply = to(tg.private(), text, buttons=BUTTONS, attached=ATTACHED)
    assert [part.last for part in await harness.send(reply)] == [False, False, True]
    messages = tg.private().from_bot()
    assert messages[0].text == "One:\n\n📎 main.py is attached.\n\nTwo:\n\n📎 main.js is attached."
    assert [tg.document(each).name for each in messages[1:]] == ["main.py", "main.js"]
    assert [bool(each.buttons) for each in messages] == [False, False, True]
    await harness.send(reply, first=2, again=True)
    assert [each.text for each in tg.private().from_bot()[3:]] == ["(recovered)"]


async def test_if_files_are_refused_code_is_text(tg: TelegramServer, harness: TelegramHarness) -> None:
    tg.fault("sendDocument", "bad_request", text="not enough rights to send documents to the chat")
    (sent,) = await harness.send(to(tg.private(), f"Run it:\n\n```python\n{CODE}```", attached=ATTACHED))
    reply, *code = tg.private().from_bot()
    assert reply.text.splitlines()[-1] == "⚠️ main.py: Not enough rights to send documents to the chat"
    assert "\n".join(each.text for each in code) == CODE.rstrip()
    assert sent.message_id == str(code[-1].id)
    assert {entity["type"] for each in code for entity in each.entities} == {"pre"}


@pytest.mark.parametrize("length", [10, 990])
async def test_code_sent_instead_of_a_refused_file_is_marked_once(
    tg: TelegramServer, harness: TelegramHarness, length: int
) -> None:
    tg.fault("sendDocument", "bad_request", text="not enough rights to send documents to the chat")
    text = f"{'x' * length}\n\n```python\n{CODE}```"
    await harness.send(to(tg.private(), text, attached=ATTACHED), again=True)
    sent = "\n".join(each.text for each in tg.private().from_bot())
    assert sent.count("(recovered)") == 1


@pytest.mark.parametrize("kind", ["too_many", "server_error", "hang_after"])
async def test_code_sent_instead_of_a_refused_file_resumes_after_an_interruption(kind: Kind) -> None:
    async with TelegramServer() as tg, running_platform(tg) as harness:
        tg.fault("sendDocument", "bad_request", text="not enough rights to send documents to the chat", times=None)
        fault = tg.fault("sendMessage", kind, skip=2, retry_after=1, seconds=3600)
        reply = to(tg.private(), f"Run it:\n\n```python\n{CODE}```", attached=ATTACHED)
        with pytest.raises(SendLater) as caught:
            await answered_or_late(tg, fault, harness.send(reply))
        await harness.send(reply, again=caught.value.maybe_sent)
        notice, *code = tg.private().from_bot()
        assert "⚠️ main.py" in notice.text
        assert len(tg.calls("sendDocument")) == 1
        texts = [each.text for each in code]
        if caught.value.maybe_sent:
            again = texts.index("(recovered)")
            assert texts[again - 1] == texts[again + 1]
            del texts[again : again + 2]
        assert "\n".join(texts) == CODE.rstrip()
