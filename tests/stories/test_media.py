"""Attachments: pictures, albums, documents, voice messages, and texts split by Telegram."""

import asyncio
import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from bot.adapters.shared.keyed_queue import KeyedQueue
from bot.inbox import inbox
from routing.types.messages import ChatKey, InboundMessage
from routing.types.queues import InboxEntry
from storage.inbox import SqlInbox
from tests.servers.model import ModelRequest
from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, ask, running

RED = bytes.fromhex("ffd8ffe0") + b"red picture"
BLUE = bytes.fromhex("ffd8ffe0") + b"blue picture"


def pictures(request: ModelRequest) -> list[bytes]:
    """The images of the newest user message in the model request."""
    content: Any = request.body["messages"][-1]["content"]
    return images(content)


def images(content: Any) -> list[bytes]:
    if isinstance(content, str):
        return []
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def all_images(request: ModelRequest) -> list[bytes]:
    messages: Sequence[dict[str, Any]] = request.body["messages"]
    return [image for message in messages for image in images(message["content"])]


async def test_a_photo_reaches_a_vision_model_and_a_follow_up_still_sees_it(on: BotHarness) -> None:
    async with running(on):
        on.tg.say_photo(RED, caption="What is this?")
        assert (await on.tg.reply()).text == "You said: What is this?"
        assert pictures(on.ms.last) == [RED]
        await ask(on, "And its colour?")
        assert all_images(on.ms.last) == [RED]
        assert pictures(on.ms.last) == []
    async with running(on):
        await ask(on, "After a restart?")
        assert all_images(on.ms.last) == [RED]
        await ask(on, "/new")
        await ask(on, "And now?")
        assert all_images(on.ms.last) == []


async def test_a_bare_photo_is_a_question_and_captions_may_have_a_prefix(on: BotHarness) -> None:
    async with running(on):
        on.tg.say_photo(RED)
        await on.tg.reply()
        assert (on.ms.last.last_user_text, pictures(on.ms.last)) == ("What is in this picture?", [RED])
        on.tg.say_photo(BLUE, caption="!deep and this?")
        await on.tg.reply()
        assert (on.ms.last.model, on.ms.last.last_user_text) == ("gpt-5.2", "and this?")
        assert pictures(on.ms.last) == [BLUE]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a message may arrive seconds apart, as on a busy machine."""
    monkeypatch.setattr(inbox, "GATHER_SECONDS", 3.0)


async def test_an_album_is_one_turn(on: BotHarness, patient: None) -> None:
    async with running(on):
        on.tg.say_photo(RED, caption="Compare", media_group="a1")
        on.tg.say_photo(BLUE, media_group="a1")
        await on.tg.reply()
        assert pictures(on.ms.last) == [RED, BLUE]
        await ask(on, "thanks")
    assert len(on.ms.calls) == 2


@pytest.mark.parametrize("cut", [False, True])
async def test_stop_reaches_a_message_still_being_joined(on: BotHarness, patient: None, cut: bool) -> None:
    async with running(on):
        if cut:
            on.tg.say("word " * 819)
        else:
            on.tg.say_photo(RED, caption="Compare", media_group="a1")
        on.tg.say("/stop")
        stopped = await on.tg.reply()
        assert "Stopped" in stopped.text
        await ask(on, "hello")
    assert [call.last_user_text for call in on.ms.calls] == ["hello"]


async def test_pictures_over_the_limit_are_named(on: BotHarness, patient: None) -> None:
    async with running(on):
        for number in range(6):
            on.tg.say_photo(RED + bytes([number]), caption="Compare" if not number else "", media_group="a1")
        answer = await on.tg.reply()
        assert pictures(on.ms.last) == [RED + bytes([number]) for number in range(4)]
        left_out = "🖼 I left out {} of your pictures: I look at 4 at a time, up to 20 MB in total."
        assert answer.text.endswith(left_out.format(2))
        for number in range(3):
            large = RED + bytes([number]) * 9_000_000
            on.tg.say_document(f"{number}.jpg", large, "image/jpeg", media_group="a2")
        answer = await on.tg.reply()
        assert len(pictures(on.ms.last)) == 2
        assert answer.text.endswith(left_out.format(1))


async def test_two_albums_are_two_turns(on: BotHarness) -> None:
    async with running(on):
        for album in ("a1", "a2"):
            on.tg.say_photo(RED, caption=album, media_group=album)
            on.tg.say_photo(BLUE, media_group=album)
        await on.tg.reply(count=2)
    assert [call.last_user_text for call in on.ms.calls] == ["a1", "a2"]
    assert [len(pictures(call)) for call in on.ms.calls] == [2, 2]


async def test_a_model_without_vision_is_skipped_visibly(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/model balanced openai/o3-mini")
        on.tg.say_photo(RED, caption="What is this?")
        answer = await on.tg.reply()
        assert answer.text == "You said: What is this?\n\n↪ openai/gpt-5.1 answered: openai/o3-mini can't see pictures."
        assert all_images(on.ms.last) == [RED]
        assert (await ask(on, "without one")).text == "You said: without one"
        assert on.ms.last.model == "o3-mini"


async def test_a_single_model_without_vision_gets_no_picture_and_the_reply_says_so(on: BotHarness) -> None:
    on.env["TIER_BALANCED_POOL"] = "openai/o3-mini"
    async with running(on):
        on.tg.say_photo(RED, caption="What is this?")
        answer = await on.tg.reply()
        assert answer.text.startswith("You said: What is this?")
        assert "openai/o3-mini can't see pictures" in answer.text
        assert all_images(on.ms.last) == []
        await ask(on, "!smart and you?")
        assert all_images(on.ms.last) == [RED]
        assert "can't see pictures" not in str(on.ms.last.body)


async def test_a_text_document_is_read_in_its_own_encoding(on: BotHarness) -> None:
    async with running(on):
        for name, data in [
            ("notes.md", "grüße".encode()),
            ("old.txt", "grüße".encode("cp1252")),
            ("bom.csv", "grüße".encode("utf-16")),
            ("code.py", "grüße".encode("utf-8-sig")),
        ]:
            on.tg.say_document(name, data, "application/octet-stream", caption="!coding Explain")
            await on.tg.reply()
            assert on.ms.last.model == "gpt-5.2"
            assert on.ms.last.last_user_text == f"Explain\n\ninbox/{name}:\n```\ngrüße\n```"


async def test_a_document_with_code_fences_stays_one_document(on: BotHarness) -> None:
    async with running(on):
        on.tg.say_document("readme.md", b"# A\n```\ncode\n```\nend")
        await on.tg.reply()
    assert on.ms.last.last_user_text == "inbox/readme.md:\n````\n# A\n```\ncode\n```\nend\n````"


async def test_what_cannot_be_read_is_kept_and_explained_to_the_model(on: BotHarness) -> None:
    async with running(on):
        on.tg.say_document("big.log", b"a line\n" * 40_000)
        assert (await on.tg.reply()).text.endswith("📂 Kept in your folder: inbox/big.log")
        asked = on.ms.last.last_user_text
        assert len(asked) < 20_000
        assert asked.endswith('[Part 1 of 19. read_file with path="inbox/big.log" and part=2 has the next.]')
        on.tg.say_document("music.bin", b"\x00\x01", "application/octet-stream")
        await on.tg.reply()
        assert "inbox/music.bin is not text (2 bytes" in on.ms.last.last_user_text
        on.tg.say_document("paper.pdf", b"%PDF-1.7", "application/pdf")
        await on.tg.reply()
        assert "inbox/paper.pdf can't be read: it is damaged" in on.ms.last.last_user_text


async def test_a_pasted_text_that_telegram_cut_is_one_question(on: BotHarness, patient: None) -> None:
    text = " ".join(f"word{n}" for n in range(1500))
    async with running(on):
        parts = on.tg.paste(text)
        assert len(parts) == 4
        await on.tg.reply()
        await ask(on, "short")
    asked = [call.last_user_text for call in on.ms.calls]
    assert len(asked) == 2
    assert asked[1] == "short"
    assert "".join(asked[0].split()) == "".join(text.split())


async def test_a_part_that_is_being_stored_is_waited_for(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving may take longer than the pause between two parts, as with a slow SD card."""
    gathering, storing, may_store = asyncio.Event(), asyncio.Event(), asyncio.Event()
    accept, peek = SqlInbox.accept, KeyedQueue.peek

    async def slow_accept(self: SqlInbox, messages: Sequence[InboundMessage]) -> Sequence[InboxEntry]:
        if messages[0].text.startswith("second"):
            storing.set()
            await may_store.wait()
        return await accept(self, messages)

    async def early_peek(self: KeyedQueue[ChatKey, InboxEntry], key: ChatKey, seconds: float) -> InboxEntry | None:
        gathering.set()
        await storing.wait()
        following = await peek(self, key, 0.0)
        may_store.set()
        return following

    monkeypatch.setattr(SqlInbox, "accept", slow_accept)
    monkeypatch.setattr(KeyedQueue, "peek", early_peek)
    async with running(on):
        on.tg.say("first " * 680)
        await gathering.wait()
        on.tg.say("second part")
        await on.tg.reply()
    (asked,) = (call.last_user_text for call in on.ms.calls)
    assert asked.split() == [*["first"] * 680, "second", "part"]


async def test_two_people_who_paste_in_a_group_are_not_mixed_up(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "/access here on", group="Team")
        on.tg.say("@tierbot " + "a" * 4050, user="ann", group="Team")
        on.tg.say("@tierbot and I?", user="ben", group="Team")
        await on.ms.wait_requests(2)
        await on.tg.wait_for(lambda tg: any("and I?" in each.text for each in tg.group("Team").from_bot()))
    assert [call.last_user_text[:6] for call in on.ms.calls] == ["aaaaaa", "and I?"]


class TranscriptionService:
    """A transcription service on the Telegram server's port."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.requests: list[tuple[str, bytes, str]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        self.requests.append((str(form["model"]), file.file.read(), request.headers["Authorization"]))
        if self.status != 200:
            return web.json_response({"error": {"message": "not today"}}, status=self.status)
        return web.json_response({"text": "what I said aloud", "usage": {"type": "duration", "seconds": 90}})


def with_transcription(on: BotHarness, status: int = 200) -> TranscriptionService:
    on.tg.extra = listener = TranscriptionService(status)
    on.env["TRANSCRIPTION_MODEL"] = "ears/whisper-1"
    openai = {"apiType": "openai", "baseUrl": on.ms.openai_base}
    ears = {"apiType": "openai", "baseUrl": f"{on.tg.root}/v1", "apiKey": "sk-ears-000000000000"}
    on.config["llm"] = {"providers": {"openai": openai, "ears": ears}}
    return listener


async def test_a_voice_message_is_transcribed(on: BotHarness) -> None:
    listener = with_transcription(on)
    async with running(on):
        on.tg.say_voice(b"OggS sounds")
        assert (await on.tg.reply()).text == "You said: what I said aloud"
    assert listener.requests == [("whisper-1", b"OggS sounds", "Bearer sk-ears-000000000000")]


async def test_a_failed_transcription_is_reported_and_reaches_no_model(on: BotHarness) -> None:
    with_transcription(on, 500)
    async with running(on):
        on.tg.say_voice()
        answer = await on.tg.reply()
    assert answer.text.startswith("I couldn't transcribe your voice message (ears/whisper-1")
    assert "Please type it." in answer.text
    assert on.ms.calls == []


@pytest.mark.parametrize("kind", ["sticker", "video_note", "contact", "dice"])
async def test_unreadable_content_is_named(on: BotHarness, kind: str) -> None:
    async with running(on):
        on.tg.unsupported(kind)
        assert (await on.tg.reply()).text.startswith("I can't read ")


async def test_a_reply_includes_the_quoted_message(on: BotHarness) -> None:
    async with running(on):
        on.ms.reply("line one\nline two")
        reply: Message = await ask(on, "tell me")
        message = on.tg.say("explain that", reply_to=reply)
        await on.tg.reply(after=message)
    assert on.ms.last.last_user_text == "> [I reply to Tierbot]\n> line one\n> line two\n\nexplain that"
    assert json.dumps(on.ms.last.body).count("explain that") == 1
