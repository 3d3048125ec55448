"""The doctor calls each model before it reports that it answers, and lists every error of a file once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bot.ops.doctor import POOLS, findings, status
from tests.servers.model import OllamaModel
from tests.stories.harness import BotHarness


async def test_a_model_that_answers_is_asked_for_one_word(on: BotHarness) -> None:
    assert (await status(on, "tier smart"))[0] == "ok"
    assert [each.model for each in on.ms.calls] == ["gpt-5.1"]


async def test_a_refused_key_fails(on: BotHarness) -> None:
    on.ms.bad_keys.add("sk-test-openai-000000000000")
    worst, detail = await status(on, "tier smart")
    assert worst == "fail"
    assert "openai/gpt-5.1 does not answer: openai refused the key" in detail
    assert "Put a valid key into OPENAI_API_KEY." in detail


async def test_a_provider_is_quoted(on: BotHarness) -> None:
    for _ in POOLS:
        on.ms.fail(400, message="Your organization must be verified to use this model.")
    _, detail = await status(on, "tier smart")
    assert "openai/gpt-5.1 does not answer: Your organization must be verified to use this model" in detail
    assert "→ Do what the provider says, or choose another model." in detail


async def test_an_account_without_credit_fails(on: BotHarness) -> None:
    for _ in range(9):
        on.ms.fail(429, message="You exceeded your quota.", code="insufficient_quota")
    _, detail = await status(on, "tier smart")
    assert "its account is out of credit → Add credit to the account at openai, or choose another provider" in detail


async def test_a_missing_gguf_file_fails(on: BotHarness) -> None:
    worst, detail = await status(on, "tier deep", TIER_DEEP_POOL="local/foo")
    assert worst == "fail"
    assert "local/foo does not answer: no file " in detail


async def test_a_stopped_ollama_fails(on: BotHarness) -> None:
    worst, detail = await status(on, "tier deep", TIER_DEEP_POOL="ollama/qwen2.5:3b")
    assert worst == "fail"
    assert "ollama/qwen2.5:3b does not answer: Ollama is not running → Start it with `ollama serve`" in detail


async def test_a_missing_ollama_model_is_to_be_pulled(on: BotHarness) -> None:
    on.ms.ollama = {"qwen2.5:1.5b": OllamaModel()}
    pools = {"TIER_DEEP_POOL": "ollama/qwen2.5:3b, ollama/qwen2.5:1.5b", "OLLAMA_HOST": on.ms.vendor("ollama")}
    worst, detail = await status(on, "tier deep", **pools)
    assert worst == "warn"
    assert "run: ollama pull qwen2.5:3b; ollama/qwen2.5:1.5b answers → ollama pull qwen2.5:3b" in detail


async def test_an_unsupported_reasoning_level_is_named(on: BotHarness) -> None:
    on.config["modelRouter"] = {"smartModelReasoning": "ultra", "deepModelReasoning": "high"}
    worst, detail = await status(on, "tier smart")
    assert worst == "warn"
    assert "openai/gpt-5.1 answers" in detail
    assert "openai/gpt-5.1 has no reasoning level ultra" in detail
    assert "none, low, medium, high" in detail
    assert "modelRouter.smartModelReasoning" in detail
    worst, detail = await status(on, "tier deep", TIER_DEEP_POOL="openai/strange-1")
    assert "openai/strange-1 has no reasoning level high" in detail
    assert "not known to" in detail


async def test_a_single_provider_pool_is_named(on: BotHarness) -> None:
    worst, detail = await status(on, "pool smart")
    assert worst == "warn"
    assert "Only one provider here (openai): if it fails, nothing can step in." in detail
    mixed = await findings(on, TIER_SMART_POOL="openai/gpt-5.1, anthropic/claude-haiku-4-5")
    assert [each for each in mixed if each.name == "pool smart"] == []


async def test_every_configuration_error_is_listed_once(on: BotHarness) -> None:
    on.config |= {
        "tiers": {"smart": {"deadlineSecond": 5, "attempts": 0, "pool": ["gpt"]}, "deep": {"deadlineSeconds": -1}},
        "modelRouter": {"temperature": "hot", "smartModle": "openai/gpt-5.1"},
        "sandbox": {"seconds": "x"},
    }
    report = await findings(on, **dict.fromkeys(POOLS, ""))
    faults = [finding.detail for finding in report if finding.status == "fail"]
    for part in (
        "tiers.smart.attempts must be", "tiers.smart.pool.0 must be", "tiers.deep.deadlineSeconds must be",
        "modelRouter.temperature must be", "sandbox.seconds must be",
    ):  # fmt: skip
        assert len([detail for detail in faults if part in detail]) == 1, part
    assert len(faults) == 5
    unknown = {finding.detail: finding.fix for finding in report if "not a known key" in finding.detail}
    assert unknown == {
        "tiers.smart.deadlineSecond is not a known key": "Did you mean tiers.smart.deadlineSeconds?",
        "modelRouter.smartModle is not a known key": "Did you mean modelRouter.smartModel?",
    }
    assert not [finding for finding in report if "report this" in finding.fix]


@pytest.mark.parametrize(
    ("config", "meant"),
    [
        ({"tiers": {"smart": {"deadlineSecond": 5}}}, "tiers.smart.deadlineSeconds"),
        ({"modelRouter": {"balancedModle": "openai/gpt-5.1"}}, "modelRouter.balancedModel"),
        ({"budgets": {}}, "budget"),
    ],
)
async def test_an_unknown_key_gets_a_suggestion(on: BotHarness, config: dict[str, object], meant: str) -> None:
    on.config |= config
    worst, detail = await status(on, "runtime-config.json")
    assert worst == "warn"
    assert f"Did you mean {meant}?" in detail


async def test_an_unread_dotenv_is_reported(on: BotHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert (await status(on, "environment"))[0] == "ok"
    (tmp_path / "here" / ".env").write_text("OPENAI_API_KEY=x\n")
    worst, detail = await status(on, "environment")
    assert worst == "warn"
    assert "./.env is ignored → Move its lines to " in detail
