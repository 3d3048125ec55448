"""Voice messages are transcribed by the first configured provider that can."""

from __future__ import annotations

import pytest

from routing.llm import transcription
from tests.servers.model.scripting import hears
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
