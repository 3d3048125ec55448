"""Our patches change nothing that we read, and still reach the functions that they replace."""

import asyncio
import importlib
import linecache
import traceback
from pathlib import Path
from typing import Any

import pytest

from routing.llm import patches

REQUEST: dict[str, Any] = {
    "model": "gpt-5.1",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ],
    "stream": True,
    "stream_options": {"include_usage": True},
}


async def test_the_request_is_what_the_client_would_have_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = importlib.import_module("openai")
    completions: Any = importlib.import_module(patches.COMPLETIONS)
    rewriting = importlib.import_module("openai._utils").async_maybe_transform
    monkeypatch.setattr(completions, "async_maybe_transform", rewriting)
    patches.send_as_given()
    assert completions.async_maybe_transform is not rewriting
    given = REQUEST | {"seed": client.NOT_GIVEN, "user": client.omit}
    expected = importlib.import_module("openai.types.chat.completion_create_params").CompletionCreateParamsStreaming
    assert await completions.async_maybe_transform(given, expected) == await rewriting(given, expected) == REQUEST


async def test_an_answer_has_neither_a_cost_nor_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm: Any = importlib.import_module("litellm")
    streams = importlib.import_module(patches.STREAMS)
    added = importlib.import_module("litellm.litellm_core_utils.llm_response_utils.response_metadata")
    monkeypatch.setattr(utils(), "update_response_metadata", added.update_response_metadata)
    monkeypatch.setattr(streams, "get_api_base", litellm.get_api_base)
    call = {"model": "openai/gpt-5.1", "messages": REQUEST["messages"], "mock_response": "Hello.", "api_key": "k"}
    whole = await litellm.acompletion(**call)
    streamed = await litellm.acompletion(**call, stream=True)
    assert whole._hidden_params["response_cost"] is not None
    assert streamed._hidden_params["api_base"] == "https://api.openai.com"
    patches.skip_metadata()
    whole = await litellm.acompletion(**call)
    streamed = await litellm.acompletion(**call, stream=True)
    assert whole._hidden_params.get("response_cost") is None
    assert streamed._hidden_params["api_base"] is None
    assert "".join([chunk.choices[0].delta.content or "" async for chunk in streamed]) == "Hello."


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """What LiteLLM looks up in its map, before `look_up_once` is installed."""
    seen: list[tuple[str, str | None]] = []
    own = utils()._get_model_info_helper

    def counted(model: str, custom_llm_provider: str | None = None, *rest: str | None) -> Any:
        seen.append((model, custom_llm_provider))
        return {"mode": "chat"} if custom_llm_provider == "ollama" else own(model, custom_llm_provider, *rest)

    for module in (utils(), importlib.import_module(patches.MAIN)):
        monkeypatch.setattr(module, "get_model_info_helper", counted)
    return seen


def utils() -> Any:
    return importlib.import_module(patches.UTILS)


async def test_a_model_is_looked_up_once(lookups: list[tuple[str, str | None]]) -> None:
    litellm: Any = importlib.import_module("litellm")
    call = {"model": "openai/gpt-5.1", "messages": REQUEST["messages"], "mock_response": "Hello.", "api_key": "k"}
    await litellm.acompletion(**call, stream=True)
    assert lookups.count(("gpt-5.1", "openai")) > 1
    patches.look_up_once()
    lookups.clear()
    for _ in range(2):
        await litellm.acompletion(**call, stream=True)
    assert lookups.count(("gpt-5.1", "openai")) == 1


@pytest.mark.usefixtures("lookups")
def test_what_is_remembered_of_a_model_is_what_the_map_says() -> None:
    litellm: Any = importlib.import_module("litellm")
    patches.look_up_once()
    look_up = utils().get_model_info_helper
    for model, provider in (("gpt-5.1", "openai"), ("claude-sonnet-4-5", "anthropic"), ("gemini-2.5-pro", "gemini")):
        look_up(model, provider)["mode"] = "changed"
        assert look_up(model, provider) == utils()._get_model_info_helper(model, provider)
    litellm.register_model({"gpt-5.1": {**litellm.model_cost["gpt-5.1"], "supports_vision": False}})
    assert look_up("gpt-5.1", "openai")["supports_vision"] is False
    litellm.register_model({"gpt-5.1": {**litellm.model_cost["gpt-5.1"], "supports_vision": True}})
    with pytest.raises(litellm.exceptions.ModelNotMappedError):
        look_up("unknown", "openai")


def test_models_outside_the_map_are_looked_up_each_time(lookups: list[tuple[str, str | None]]) -> None:
    patches.look_up_once()
    for _ in range(2):
        utils().get_model_info_helper("qwen3", "ollama")
    assert lookups == [("qwen3", "ollama")] * 2


async def test_a_failed_call_leaves_no_source_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm: Any = importlib.import_module("litellm")
    for name in (patches.ERRORS, patches.LOGGING, patches.STREAMS, patches.UTILS):
        monkeypatch.setattr(importlib.import_module(name), "traceback", traceback)
    folder = str(Path(litellm.__file__).parent)

    async def quoted(answer: Any) -> list[str]:
        """The source files that the traceback of a failed call quotes."""
        linecache.clearcache()
        with pytest.raises(litellm.InternalServerError, match="too bad"):
            async for _ in await litellm.acompletion("openai/m", messages=[], mock_response=answer, stream=True):
                pass
        await asyncio.sleep(0)
        return [name for name, kept in linecache.cache.items() if name.startswith(folder) and len(kept) > 1]

    failure = RuntimeError("too bad")
    assert await quoted(failure)
    patches.skip_tracebacks()
    assert await quoted(failure) == []


@pytest.mark.usefixtures("lookups")
def test_the_look_up_is_replaced_once_per_process() -> None:
    """Otherwise each bot of a process would call those before it, up to Python's recursion limit."""
    patches.look_up_once()
    installed = utils().get_model_info_helper
    patches.look_up_once()
    assert utils().get_model_info_helper is installed


def test_a_schema_is_cleaned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: Any = importlib.import_module(patches.OPENAI_REQUESTS)
    common = importlib.import_module("litellm.litellm_core_utils.prompt_templates.common_utils")
    sanitize = common.flatten_combinators_and_drop_non_python_regex_patterns
    cleaned: list[Any] = []

    def counted(tool: Any, sanitize: Any) -> Any:
        cleaned.append(tool)
        return common.tool_with_sanitized_parameters(tool, sanitize)

    monkeypatch.setattr(requests, "tool_with_sanitized_parameters", counted)
    patches.clean_schemas_once()
    clean = requests.tool_with_sanitized_parameters
    patches.clean_schemas_once()
    assert requests.tool_with_sanitized_parameters is clean, "once per process"
    good = {"type": "object", "properties": {"a": {"type": "string"}}}
    bad = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}
    tool: dict[str, Any]
    for schema in (good, bad):
        for name in ("first", "second"):
            tool = {"type": "function", "function": {"name": name, "parameters": schema}}
            assert clean(tool, sanitize) == common.tool_with_sanitized_parameters(tool, sanitize)
    assert len(cleaned) == 2
    for tool in ({"type": "web_search"}, {"name": "t", "input_schema": bad}, {"type": "function", "function": {}}):
        assert clean(tool, sanitize) == common.tool_with_sanitized_parameters(tool, sanitize)
