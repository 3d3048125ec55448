"""What a person sees when the model fails, and that /retry works afterwards."""

import pytest

from tests.stories.harness import BotHarness, ask, running

KEY = "sk-test-openai-000000000000"


def request_timeout(on: BotHarness, seconds: float) -> None:
    """The provider's time limit."""
    openai = {"apiType": "openai", "baseUrl": on.ms.openai_base, "requestTimeoutSeconds": seconds}
    on.config["llm"] = {"providers": {"openai": openai}}


async def test_no_connection_to_the_model_keeps_the_question(on: BotHarness) -> None:
    async with running(on):
        async with on.ms.outage():
            sorry = await ask(on, "my question")
        assert "`" not in sorry.text
        assert sorry.text.startswith("⚠️ openai/gpt-5.1 can't be reached (")
        assert sorry.text.endswith("Your message is saved; /retry asks again.")
        assert (await ask(on, "/retry")).text == "You said: my question"
        assert list(on.ms.last.reading.turns)[-1] == ("user", "my question")
        assert len([turn for turn in on.ms.last.reading.turns if turn[0] == "user"]) == 1


async def test_the_retry_button_asks_again(on: BotHarness) -> None:
    async with running(on):
        async with on.ms.outage():
            sorry = await ask(on, "my question")
        on.tg.press("🔁 Retry", message=sorry)
        assert (await on.tg.reply(after=sorry)).text == "You said: my question"


@pytest.mark.parametrize("abrupt", [False, True])
async def test_a_stream_that_breaks_off_keeps_its_text_and_says_so(on: BotHarness, abrupt: bool) -> None:
    on.ms.truncate(after_chunks=4, text="one two three four", abrupt=abrupt)
    async with running(on):
        cut = await ask(on, "count")
        text, mark = cut.text.split("\n\n")
        assert "one two three four".startswith(text)
        assert text.startswith("one")
        assert mark == "✂️ The provider cut the answer off here. /retry asks again."
        assert len(on.ms.calls) == 1
        on.ms.reply("one two three four")
        on.tg.press("🔁 Retry", message=cut)
        assert (await on.tg.reply(after=cut)).text == "one two three four"
        assert on.ms.last.last_user_text == "count"


@pytest.mark.parametrize("fault", ["garbage", "break_stream"])
async def test_a_stream_that_turns_bad_keeps_its_text(on: BotHarness, fault: str) -> None:
    getattr(on.ms, fault)(after_chunks=4, text="one two three four")
    async with running(on):
        cut = await ask(on, "count")
        assert cut.text.startswith("one")
        assert "cut the answer off here" in cut.text


async def test_an_answer_that_reached_its_length_says_so(on: BotHarness) -> None:
    on.ms.length_cut("as far as")
    async with running(on):
        assert (await ask(on, "go")).text.startswith("as far as\n\n✂️ The answer stops here")


async def test_an_empty_answer_is_retried(on: BotHarness) -> None:
    on.ms.empty()
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm"
        assert len(on.ms.calls) == 2
        on.ms.empty(times=2)
        reply = await ask(on, "again")
        assert reply.text.startswith("⚠️ openai/gpt-5.1 gave an empty answer twice.")
        assert len(on.ms.calls) == 4


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_a_provider_error_is_retried_once(on: BotHarness, status: int) -> None:
    on.ms.fail(status)
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm"
        assert len(on.ms.calls) == 2
        on.ms.fail(status, times=3)
        assert "Your message is saved; /retry asks again." in (await ask(on, "more")).text
        assert [call.model for call in on.ms.calls[2:]] == ["gpt-5.1", "gpt-5.1", "gpt-5.2"]


async def test_a_connection_reset_is_retried_once(on: BotHarness) -> None:
    on.ms.reset()
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm"


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_named_and_never_shown(on: BotHarness, status: int) -> None:
    on.ms.fail(status, message=f"Incorrect API key provided: {KEY}.")
    async with running(on):
        on.tg.say("hm")
        text = (await on.tg.reply(matching="/retry")).text
        reply_text = (await on.tg.reply(matching="🔑")).text
        assert "OPENAI_API_KEY" in text
        assert "OPENAI_API_KEY" in reply_text
        assert KEY not in text + reply_text
        assert KEY[:12] not in text + reply_text
        assert len(on.ms.calls) == 1
        assert (await ask(on, "/retry")).text == "You said: hm"


async def test_an_unknown_model_is_named(on: BotHarness) -> None:
    on.ms.fail(404, times=2)
    async with running(on):
        on.tg.say("hm")
        text = (await on.tg.reply(matching="⚠️")).text
        assert text.startswith("⚠️ The provider doesn't know openai/gpt-5.2")
        assert "/model" in text
        assert [call.model for call in on.ms.calls] == ["gpt-5.1", "gpt-5.2"]
        assert (await on.tg.reply(matching="❓")).text.startswith("❓ openai has no model openai/gpt-5.1 (")


async def test_a_short_retry_after_is_waited_for(on: BotHarness) -> None:
    on.ms.fail(429, retry_after=1)
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm"
        first, second = on.ms.calls
        assert second.time - first.time >= 1.0


async def test_a_long_retry_after_is_reported_at_once(on: BotHarness) -> None:
    on.ms.fail(429, retry_after=600, times=2)
    now = [1_000_000.0]
    async with running(on, clock=lambda: now[0]):
        text = (await ask(on, "hm")).text
        assert text.startswith("⏳ openai/gpt-5.2 is busy (try again in 600 s)")
        now[0] += 100
        assert "(try again in 500 s)" in (await ask(on, "/retry")).text
        assert len(on.ms.calls) == 2, "a rate-limited model is left alone"
        now[0] += 501
        assert (await ask(on, "/retry balanced")).text == "You said: hm"


async def test_a_model_that_never_starts_times_out(on: BotHarness) -> None:
    request_timeout(on, 0.3)
    on.ms.hang(600.0, times=2)
    async with running(on):
        reply = await ask(on, "hm")
        assert "was too slow (no first words within 0.3 s)" in reply.text
        await ask(on, "/settings language de")
        on.ms.hang(600.0, times=2)
        assert "war zu langsam (keine ersten Wörter innerhalb von 0,3 s)" in (await ask(on, "/retry")).text
        assert [await call.finished() for call in on.ms.calls] == ["cut"] * 4, "a single model is retried once"


async def test_a_model_that_stalls_mid_answer_times_out(on: BotHarness) -> None:
    request_timeout(on, 1.0)
    on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with running(on):
        reply = await ask(on, "count")
        assert reply.text.startswith("one two t\n\n✂️ Stopped at the 1 s limit.")


async def test_content_that_a_provider_declines(on: BotHarness) -> None:
    on.ms.fail(400, code="content_policy_violation")
    async with running(on):
        assert (await ask(on, "hm")).text.startswith("🛑 openai/gpt-5.1 declined this")
        assert len(on.ms.calls) == 1


async def test_a_conversation_longer_than_the_model_reads(on: BotHarness) -> None:
    on.ms.fail(400, code="context_length_exceeded", times=None)
    async with running(on):
        text = (await ask(on, "hm")).text
        assert text.startswith("⚠️ This is too long for openai/gpt-5.1.")
        assert "/new" in text


async def test_a_failure_is_in_status(on: BotHarness) -> None:
    on.ms.fail(500, times=3)
    async with running(on):
        await ask(on, "hm")
        assert "openai/gpt-5.1 failed" in (await ask(on, "/status full")).text
