"""Voice messages are transcribed by the first configured provider that can, and answers are spoken."""

from __future__ import annotations

import pytest

from routing.llm.media import transcription
from tests.servers.discord import DiscordServer
from tests.servers.model.script import BEFORE_HEADERS
from tests.servers.model.scripting import hears, speaks
from tests.servers.telegram import Message
from tests.stories.discord_bot import up
from tests.stories.harness import BotHarness, ask, running

OPENAI, GROQ = "openai/gpt-4o-mini-transcribe", "groq/whisper-large-v3-turbo"


def opus(seconds: int) -> bytes:
    """The first and the last page of a voice note of this length."""
    pages = (b"OggS\x00\x02" + bytes(20) + b"OpusHead", b"OggS\x00\x04" + (48_000 * seconds).to_bytes(8, "little"))
    return (bytes(40) + b" sound ").join((*pages, b""))


def groq(on: BotHarness) -> None:
    """Configures Groq beside OpenAI, on the same server."""
    openai = {"apiType": "openai", "baseUrl": on.ms.openai_base}
    on.config["llm"] = {"providers": {"openai": openai, "groq": {"baseUrl": f"{on.ms.vendor('groq')}/v1"}}}
    on.env["GROQ_API_KEY"] = "gsk-test-000000000000"


async def test_a_voice_message_is_heard_without_any_setting(on: BotHarness) -> None:
    on.ms.hear("what is the capital of France?")
    async with running(on):
        on.tg.say_voice(opus(12))
        assert (await on.tg.reply()).text == "You said: what is the capital of France?"
        await ask(on, "/settings language de")
        on.tg.say_voice(opus(12))
        await on.tg.reply()
        assert OPENAI in (await ask(on, "/status full")).text
    assert [(call.model, call.upload, call.body.get("language")) for call in on.ms.media] == [
        ("gpt-4o-mini-transcribe", opus(12), None),
        ("gpt-4o-mini-transcribe", opus(12), "de"),
    ]
    assert on.rows("select model, cost_nano from usage where tier = 'voice'") == [(OPENAI, 12 * 50_000)] * 2


async def test_the_next_provider_hears_if_one_is_down(on: BotHarness) -> None:
    groq(on)
    on.ms.fail(500, when=lambda request: hears(request) and not request.vendor)
    on.ms.hear("hello", seconds=9, when=lambda request: hears(request) and request.vendor == "groq")
    async with running(on):
        on.tg.say_voice(opus(10))
        assert (await on.tg.reply()).text == "You said: hello"
    assert on.rows("select model from usage where tier = 'voice'") == [(GROQ,)]
    assert [call.model for call in on.ms.media] == ["gpt-4o-mini-transcribe", "whisper-large-v3-turbo"]


async def test_nothing_is_heard_over_the_budget(on: BotHarness) -> None:
    on.config["budget"] = {"perUserDailyUsd": 0.0001}
    async with running(on):
        on.tg.say_voice(opus(60))
        assert "$0.0001 a day" in (await on.tg.reply()).text
    assert on.ms.media == []


async def test_long_large_and_empty_recordings_are_refused(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    on.ms.hear(" ")
    async with running(on):
        on.tg.say_voice(opus(3_000))
        words = "Your voice message is too long: about 50 minutes, at most 20. Please send it in parts."
        assert (await on.tg.reply()).text == words
        assert on.ms.media == []
        said = on.tg.say_voice(opus(3))
        assert "I heard no words" in (await on.tg.reply(after=said)).text
        monkeypatch.setattr(transcription, "MAX_BYTES", 100)
        said = on.tg.say_voice(bytes(101))
        assert "too large" in (await on.tg.reply(after=said)).text
    assert on.ms.calls == []


async def test_without_any_provider_that_can_the_reply_says_how(on: BotHarness) -> None:
    mine = {"apiType": "openai", "baseUrl": on.ms.openai_base, "apiKey": "sk-mine-000000000000"}
    on.config["llm"] = {"providers": {"mine": mine}}
    on.env |= {"OPENAI_API_KEY": "", "TIER_BALANCED_POOL": "mine/gpt-5.1"}
    async with running(on):
        on.tg.say_voice()
        assert "such as OPENAI_API_KEY" in (await on.tg.reply()).text
        assert "Voice messages are not transcribed here." in (await ask(on, "/status full")).text
    assert on.ms.media == []


async def test_off_is_off_and_a_list_is_tried_in_order(on: BotHarness) -> None:
    groq(on)
    on.env["TRANSCRIPTION_MODEL"] = "groq/whisper-large-v3, openai/whisper-1"
    on.ms.fail(429, when=hears)
    async with running(on):
        on.tg.say_voice(opus(1))
        assert (await on.tg.reply()).text == "You said: what I said aloud"
    assert [call.model for call in on.ms.media] == ["whisper-large-v3", "whisper-1"]
    on.env["TRANSCRIPTION_MODEL"] = "off"
    async with running(on):
        said = on.tg.say_voice(opus(1))
        assert "I can't hear voice messages here" in (await on.tg.reply(after=said)).text
    assert len(on.ms.media) == 2


async def test_an_unreadable_answer_is_reported(on: BotHarness) -> None:
    on.ms.garbage(when=hears)
    async with running(on):
        on.tg.say_voice(opus(1))
        assert (await on.tg.reply()).text.startswith(f"I couldn't transcribe your voice message ({OPENAI}: ")
    assert on.ms.calls == []


ANSWER = "**Paris** is the capital. See [the map](https://example.org/x).\n\n```\ncode\n```"


async def spoken(on: BotHarness, text: str) -> tuple[Message, Message]:
    """Sends a message; returns the answer and its voice message."""
    said = on.tg.say(text)
    await on.tg.wait_for(lambda tg: len(tg.replies_to(said, said)) >= 2)
    answer, voice = on.tg.replies_to(said, said)
    return answer, voice


async def test_answers_are_spoken_after_their_text(on: BotHarness) -> None:
    on.ms.speak(opus(4), times=None)
    on.ms.reply(ANSWER)
    async with running(on):
        assert "🔊 openai/gpt-4o-mini-tts speaks my answers" in (await ask(on, "/voice on")).text
        answer, voice = await spoken(on, "capital?")
        assert answer.text.startswith("Paris is the capital.")
        assert (on.tg.voice(voice).data, voice.text) == (opus(4), "")
        await ask(on, "/settings footer on")
        on.ms.reply("A sentence of fifty characters, which is very long. " * 50)
        answer, voice = await spoken(on, "a long one?")
        assert voice.text == "🔊 This is the beginning; the text has the rest.\nopenai/gpt-4o-mini-tts · $0.0012"
        assert "Spoken answers: 2 calls" in (await ask(on, "/usage tiers")).text
        await ask(on, "/voice off")
        await ask(on, "and now?")
    first, second = on.ms.media
    assert first.body == {
        "model": "gpt-4o-mini-tts",
        "input": "Paris is the capital. See the map.",
        "voice": "alloy",
        "response_format": "opus",
    }
    assert len(str(second.body["input"])) in range(1_400, 1_501)
    assert on.rows("select cost_nano from usage where tier = 'speech'") == [(1_005_400,), (1_218_400,)]


async def test_the_text_arrives_whatever_happens_to_the_voice(on: BotHarness) -> None:
    gate = on.ms.speak(b"not a sound", gate_after=BEFORE_HEADERS)
    async with running(on):
        await ask(on, "/voice on")
        said = on.tg.say("hello")
        assert (await on.tg.reply(said, after=said)).text == "You said: hello"
        gate.open()
        words = "🔇 I couldn't speak this answer (openai/gpt-4o-mini-tts: its answer can't be read)."
        assert (await on.tg.reply(said, after=said, matching=lambda each: each.text.startswith("🔇"))).text == words
        on.ms.fail(503, when=speaks)
        said = on.tg.say("again")
        voice = await on.tg.reply(said, after=said, matching=lambda each: each.text.startswith("🔇"))
        assert "it reported an error" in voice.text
    assert on.rows("select count(*) from usage where tier = 'speech'") == [(0,)]


async def test_nothing_is_spoken_over_the_budget(on: BotHarness) -> None:
    on.config["budget"] = {"perUserDailyUsd": 0.01}
    on.env["TIER_BALANCED_POOL"] = "openai/gpt-4o-mini"
    on.env["SPEECH_MODEL"] = "elevenlabs/eleven_multilingual_v2, openai/tts-1"
    on.env["ELEVENLABS_API_KEY"] = "test-elevenlabs-000000000000"
    on.ms.reply("A sentence of fifty characters, which is very long. " * 10)
    async with running(on):
        await ask(on, "/voice on")
        _, notice = await spoken(on, "a long one?")
    assert notice.text.startswith("🔇 I didn't speak this answer: your limit has no room for it.")
    assert on.ms.media == []


async def test_voice_stays_off_where_nothing_can_speak(on: BotHarness) -> None:
    on.env["SPEECH_MODEL"] = "off"
    async with running(on):
        assert (await ask(on, "/voice on")).text.startswith("No model here can speak.")
        assert (await ask(on, "/voice")).text == "🔇 My answers are text only."
        assert (await ask(on, "hello")).text == "You said: hello"
    assert on.ms.media == []


LETTER = b"What's on my calendar tomorrow? Will it rain in Bonn?"


async def test_a_document_with_a_voice_message_does_not_choose_tools(on: BotHarness, dc: DiscordServer) -> None:
    """The words of the voice message do."""
    on.ms.hear("Will it rain in Oslo?")
    on.ms.hear("Summarise this, please")
    voice, letter = ("voice.ogg", b"OggS", "audio/ogg"), ("letter.txt", LETTER, "text/plain")
    async with running(on) as app:
        await up(dc, app)
        asked = dc.say("", attachments=(("note.txt", b"Nothing.", "text/plain"), voice))
        await dc.reply(asked, after=asked)
        assert "get_weather" in on.ms.last.reading.tool_names
        asked = dc.say("/new")
        await dc.reply(asked, after=asked)
        asked = dc.say("", attachments=(letter, voice))
        answer = await dc.reply(asked, after=asked)
        assert "Summarise this, please" in on.ms.last.last_user_text
        assert "get_weather" not in on.ms.last.reading.tool_names
        assert "/connect" not in answer.text


async def test_a_voice_reply_to_a_file_is_about_that_file(on: BotHarness, dc: DiscordServer) -> None:
    on.ms.hear("What does it say?")
    on.ms.hear("What does it say?")
    async with running(on) as app:
        given = on.tg.say_document("letter.txt", b"The harvest was good.", "text/plain", caption="Keep this")
        await on.tg.reply(given, after=given)
        await ask(on, "/new")
        said = on.tg.say_voice(reply_to=given)
        await on.tg.reply(said, after=said)
        assert "What does it say?" in on.ms.last.last_user_text
        assert "The harvest was good." in on.ms.last.last_user_text
        await up(dc, app)
        sent = dc.say("Keep this", attachments=(("plan.txt", b"We sow in May.", "text/plain"),))
        await dc.reply(sent, after=sent)
        reset = dc.say("/new")
        await dc.reply(reset, after=reset)
        asked = dc.say("", reply_to=sent, attachments=(("voice.ogg", b"OggS", "audio/ogg"),))
        await dc.reply(asked, after=asked)
        assert "What does it say?" in on.ms.last.last_user_text
        assert "We sow in May." in on.ms.last.last_user_text
