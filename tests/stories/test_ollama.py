"""Ollama without configuration: found automatically, used by name, and its errors understood."""

from __future__ import annotations

import logging

import pytest

from tests.fakes import later
from tests.servers.model import OllamaModel
from tests.stories.harness import BotHarness, ask, running
from tests.stories.vendors import DEADLINE


@pytest.fixture
def ollama_only(on: BotHarness) -> BotHarness:
    """No key anywhere, and an Ollama at OLLAMA_HOST."""
    on.env |= {"OPENAI_API_KEY": "", "OLLAMA_HOST": on.ms.vendor("ollama")}
    on.config["llm"] = {}
    on.ms.ollama = {
        "bge-m3:latest": OllamaModel(("embedding",), size=900),
        "gemma3:4b": OllamaModel(("completion", "vision"), size=800),
        "qwen2.5:1.5b": OllamaModel(size=150),
        "qwen2.5:3b": OllamaModel(size=300),
    }
    return on


async def test_a_running_ollama_serves_every_tier(ollama_only: BotHarness, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with running(ollama_only):
        await ollama_only.ms.journal.wait(lambda: any(each.endpoint == "ps" for each in ollama_only.ms.journal), 30)
        assert (await ask(ollama_only, "hello")).text == "You said: hello"
        assert (ollama_only.ms.last.model, ollama_only.ms.last.vendor) == ("qwen2.5:3b", "ollama")
        assert "Ollama is running with qwen2.5:3b." in (await ask(ollama_only, "/start")).text
        shown = (await ask(ollama_only, "/tier deep")).text
        assert "Model: ollama/qwen2.5:3b (stand-in)." in shown
        assert "No API key for anthropic, openai, so ollama/qwen2.5:3b answers." in shown
        assert (await ask(ollama_only, "hello")).text == "You said: hello"
        assert ollama_only.ms.last.body.get("reasoning_effort") is None
    assert "Ollama is running with qwen2.5:3b" in caplog.text


async def test_a_proxy_in_the_environment_does_not_hide_ollama(
    ollama_only: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    async with running(ollama_only):
        assert "Ollama is running with qwen2.5:3b." in (await ask(ollama_only, "/start")).text


async def test_an_ollama_model_needs_only_its_name(ollama_only: BotHarness) -> None:
    ollama_only.env["TIER_BALANCED_POOL"] = "ollama/qwen2.5:1.5b"
    ollama_only.config["modelRouter"] = {"balancedModelReasoning": "none"}
    async with running(ollama_only):
        assert (await ask(ollama_only, "hello")).text == "You said: hello"
        assert ollama_only.ms.last.model == "qwen2.5:1.5b"
        assert "Model: ollama/qwen2.5:1.5b (stand-in)." in (await ask(ollama_only, "/tier smart")).text
        await ask(ollama_only, "hello")
        assert ollama_only.ms.last.model == "qwen2.5:1.5b"


async def test_a_model_without_tools_answers_without_them(ollama_only: BotHarness) -> None:
    ollama_only.env["TIER_BALANCED_POOL"] = "ollama/gemma3:4b"
    ollama_only.ms.tells_sizes.clear()  # nothing is known about it at the first question
    async with running(ollama_only):
        assert (await ask(ollama_only, "What time is it in Oslo?")).text == "You said: What time is it in Oslo?"
        assert [bool(each.body.get("tools")) for each in ollama_only.ms.calls] == [True, False]


async def test_a_model_that_was_not_pulled_is_named(ollama_only: BotHarness) -> None:
    ollama_only.env["TIER_BALANCED_POOL"] = "ollama/llama3.2:3b"
    async with running(ollama_only):
        text = (await ask(ollama_only, "hello")).text
    assert "The provider doesn't know ollama/llama3.2:3b (run: ollama pull llama3.2:3b)" in text


async def test_other_tiers_use_the_installed_model(ollama_only: BotHarness) -> None:
    ollama_only.env["TIER_CODING_POOL"] = "ollama/llama3.2:3b"
    async with running(ollama_only):
        assert (await ask(ollama_only, "hello")).text == "You said: hello"
        assert ollama_only.ms.last.model == "qwen2.5:3b"
        assert "Model: ollama/qwen2.5:3b (stand-in)." in (await ask(ollama_only, "/tier smart")).text
        assert "run: ollama pull llama3.2:3b" in (await ask(ollama_only, "!coding hello")).text


async def test_an_ollama_that_stopped_is_named(ollama_only: BotHarness) -> None:
    async with running(ollama_only):
        await ask(ollama_only, "hello")
        await ollama_only.ms.go_down()
        assert "Ollama is not running" in (await ask(ollama_only, "still there?")).text
        await ollama_only.ms.come_back()


async def test_the_window_is_ollamas_and_status_explains_it(ollama_only: BotHarness) -> None:
    ollama_only.env["TIER_BALANCED_POOL"] = "ollama/qwen2.5:3b"
    ollama_only.env["TIER_SMART_POOL"] = "ollama/qwen2.5:1.5b"
    ollama_only.ms.ollama = {
        "qwen2.5:3b": OllamaModel(size=300, context=8192),
        "qwen2.5:1.5b": OllamaModel(size=150, num_ctx=2048),
    }
    async with running(ollama_only):
        await ollama_only.ms.journal.wait(
            lambda: sum(each.endpoint == "ps" for each in ollama_only.ms.journal) == 2, 30
        )
        for each in ollama_only.ms.journal:
            await each.finished()
        loaded = (await ask(ollama_only, "/status full")).text
        await ask(ollama_only, "/tier smart")
        own = (await ask(ollama_only, "/status full")).text
    assert "Context window: 8,192 tokens (as loaded by Ollama)." in loaded
    assert "Context window: 2,048 tokens (num_ctx in the model's Modelfile)." in own


async def test_a_model_that_has_to_be_loaded_first_is_waited_for(ollama_only: BotHarness) -> None:
    """Longer than the contract: the model has no measurements yet."""
    gate = ollama_only.ms.gate("done")
    async with running(ollama_only):
        message = ollama_only.tg.say("hello")
        await gate.reached(60.0)
        later(DEADLINE["balanced"] + 10.0)
        gate.open()
        assert (await ollama_only.tg.reply(message, after=message)).text == "done"
