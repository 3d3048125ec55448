"""Provider-specific refusals: reasoning levels, empty accounts, windows, missing models."""

from __future__ import annotations

import pytest

from tests.polling import until
from tests.servers.telegram import User
from tests.stories.harness import OWNER, BotHarness, ask, previewing_early, running
from tests.stories.test_compaction import SUMMARY, is_summary, talk
from tests.stories.vendors import asked, at, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

BOB = User(1002, "Bob")
PLAIN = "openai/strange-1"
"""A model that is in no catalogue."""


async def test_no_effort_is_sent_to_a_model_that_is_not_known_to_reason(
    on: BotHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.live_config.RELOAD_SECONDS", 0.1)
    on.env |= {f"TIER_{tier}_POOL": PLAIN for tier in ("BALANCED", "DEEP")}
    on.config["modelRouter"] = {"smartModelReasoning": "ultra", "deepModelReasoning": "high"}
    async with running(on):
        for tier in ("balanced", "deep"):
            assert (await ask(on, f"!{tier} hm")).text == "You said: hm"
            assert on.ms.last.reading.effort is None
        shown = (await ask(on, "/tier deep")).text
        assert f"The reasoning level high is not sent: {PLAIN} is not known to take one." in shown
        shown = (await ask(on, "/tier smart")).text
        assert "openai/gpt-5.1 has no reasoning level ultra. It has: none, low, medium, high." in shown
        await until(lambda: "the level ultra is not sent to openai/gpt-5.1; it takes none, low" in caplog.text)


CREDIT = [
    (
        "openai",
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    ("anthropic", 400, None, "Your credit balance is too low to access the Anthropic API."),
    ("openai", 402, None, "Insufficient Balance"),
    ("openai", 402, None, "This request requires more credits, or fewer max_tokens."),
]


@pytest.mark.parametrize(("vendor", "status", "code", "words"), CREDIT)
async def test_an_empty_account_is_named_and_the_next_vendor_used(
    on: BotHarness, vendor: str, status: int, code: str | None, words: str
) -> None:
    vendors(on)
    other = "gemini/gemini-2.5-flash"
    first = {"openai": "openai/gpt-5.1", "anthropic": "anthropic/claude-haiku-4-5"}[vendor]
    on.env["TIER_BALANCED_POOL"] = f"{first},{first}-2,{other}"
    on.ms.fail(status, code=code, message=words, when=at(vendor), times=None)
    async with running(on):
        answer = await ask(on, "hm")
        assert answer.text == f"You said: hm\n\n↪ {other} answered: {first}: its account is out of credit."
        notice = await on.tg.reply(OWNER, matching="💳")
        name = {"openai": "OpenAI", "anthropic": "Anthropic"}[vendor]
        assert notice.text.startswith(f"💳 The {name} account is out of credit, so {first} is skipped. Add credit")
    assert asked(on) == [first, other], "neither a retry nor another model of the same account"


async def test_with_one_vendor_the_reply_names_the_empty_account(on: BotHarness) -> None:
    on.ms.fail(429, code="insufficient_quota", retry_after=1, times=None)
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        reply = await ask(on, "hm", user=BOB)
        assert reply.text.startswith("⚠️ The OpenAI account is out of credit.")
    assert len(on.ms.calls) == 1


async def test_a_renewing_quota_is_not_an_empty_account(on: BotHarness) -> None:
    vendors(on)
    words = "You exceeded your current quota, please check your plan and billing details. Please retry in 40s."
    on.env["TIER_BALANCED_POOL"] = "gemini/gemini-2.5-flash,openai/gpt-5.1"
    on.ms.fail(429, message=words, when=at("gemini"))
    async with running(on):
        assert "out of credit" not in (await ask(on, "hm")).text


async def test_a_removed_model_is_replaced_by_another_of_its_vendor(on: BotHarness) -> None:
    on.ms.missing_models.add("gpt-5.1")
    async with running(on):
        text = (await ask(on, "hm")).text
        assert text.startswith("You said: hm\n\n↪ openai/gpt-5.2 answered: openai/gpt-5.1: ")
    on.ms.missing_models.clear()
    on.ms.bad_keys.add("sk-test-openai-000000000000")
    before = len(on.ms.calls)
    async with running(on):
        assert "can't be used" in (await ask(on, "hm")).text
    assert len(on.ms.calls) == before + 1, "they share one key"


async def test_a_short_retry_after_is_waited_out_visibly(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    previewing_early(monkeypatch)
    on.ms.fail(429, retry_after=2)
    async with running(on):
        answer = await ask(on, "hm")
        assert answer.text == "You said: hm"
        assert any("⏳ openai/gpt-5.1: 2 s …" in draft.text for draft in on.tg.drafts)
    assert [call.model for call in on.ms.calls] == ["gpt-5.1"] * 2


async def test_the_real_window_is_learned_from_the_error_and_stored(on: BotHarness) -> None:
    on.knows(**{"gpt-5.1": {"provider": "openai", "maxInputTokens": 32_000}})
    async with running(on):
        await ask(on, "hello")
    talk(on, 40, "x" * 1_500)
    on.ms.reply(SUMMARY, when=is_summary, times=None)
    words = "This model's maximum context length is 8192 tokens. However, your messages resulted in 17000 tokens."
    on.ms.fail(400, code="context_length_exceeded", message=words)
    async with running(on):
        assert (await ask(on, "still there?")).text == "You said: still there?"
        assert len({call.raw for call in on.ms.calls}) == len(on.ms.calls)
    async with running(on) as app:
        assert app.engine.models.window("openai/gpt-5.1", None) == 8_192, "also after a restart"
