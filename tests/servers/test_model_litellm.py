"""LiteLLM and the OpenAI SDK read the loopback provider's answers, streamed and whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import openai
import pytest

from tests.litellm_setup import litellm_without_clients
from tests.servers.model import ModelServer

WIRES = ("openai/gpt-4o-mini", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash")
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture
async def litellm() -> Any:
    """The library, as if it had just been imported."""
    return litellm_without_clients()


@dataclass
class Transcript:
    """What a client of the library ends up with."""

    text: str = ""
    thinking: str = ""
    arguments: dict[int, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    finish: str | None = None
    usage: Any = None

    def take(self, choice: Any, message: Any) -> None:
        self.text += message.content or ""
        self.thinking += getattr(message, "reasoning_content", None) or ""
        self.finish = choice.finish_reason or self.finish
        for index, call in enumerate(message.tool_calls or ()):
            place = getattr(call, "index", index)
            self.arguments[place] = self.arguments.get(place, "") + (call.function.arguments or "")
            self.names += [call.function.name] if call.function.name else []


async def complete(litellm: Any, ms: ModelServer, model: str, *, stream: bool, **more: Any) -> Transcript:
    """One call through LiteLLM. `_skip_mcp_handler` keeps a call with tools from importing mcp."""
    vendor = model.partition("/")[0]
    base = {"openai": ms.openai_base, "anthropic": ms.root, "gemini": ms.gemini_base}[vendor]
    options = {"stream_options": {"include_usage": True}} if stream else {}
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    answer = await litellm.acompletion(
        model=model, api_base=base, api_key="sk-test", messages=messages, stream=stream,
        num_retries=0, max_retries=0, timeout=60, _skip_mcp_handler=True, **options, **more,
    )  # fmt: skip
    transcript = Transcript()
    if not stream:
        transcript.take(answer.choices[0], answer.choices[0].message)
        transcript.usage = answer.usage
        return transcript
    async for chunk in answer:
        transcript.usage = getattr(chunk, "usage", None) or transcript.usage
        if chunk.choices:
            transcript.take(chunk.choices[0], chunk.choices[0].delta)
    return transcript


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", WIRES)
async def test_text_tools_thinking_length_and_usage(ms: ModelServer, litellm: Any, model: str, stream: bool) -> None:
    ms.reply("Grüße from the model", usage=(100, 20, 60, 0))
    ms.call_tools([("weather", {"city": "Kyiv"}), ("weather", {})], text="Looking.")
    ms.reasoning("Let me see", then="42")
    ms.length_cut("cut sh")
    plain = await complete(litellm, ms, model, stream=stream)
    assert (plain.text, plain.finish) == ("Grüße from the model", "stop")
    assert (plain.usage.prompt_tokens, plain.usage.completion_tokens) == (100, 20)
    assert plain.usage.prompt_tokens_details.cached_tokens == 60
    tools = await complete(litellm, ms, model, stream=stream, tools=TOOLS)
    assert (tools.text, tools.finish, tools.names) == ("Looking.", "tool_calls", ["weather"] * 2)
    assert [json.replace(" ", "") for _, json in sorted(tools.arguments.items())] == ['{"city":"Kyiv"}', "{}"]
    thought = await complete(litellm, ms, model, stream=stream)
    assert (thought.thinking, thought.text) == ("Let me see", "42")
    cut = await complete(litellm, ms, model, stream=stream)
    assert (cut.text, cut.finish) == ("cut sh", "length")
    assert [call.outcome for call in ms.calls] == ["completed"] * 4
    assert {call.reading.system_text for call in ms.calls} == {"Be brief."}
    assert {call.key for call in ms.calls} == {"sk-test"}
    assert ms.calls[1].reading.tool_names == ("weather",)


@pytest.mark.parametrize("model", WIRES)
async def test_errors_become_litellm_exceptions(litellm: Any, model: str) -> None:
    kinds = {400: "ContextWindowExceededError", 401: "AuthenticationError", 429: "RateLimitError"}
    async with ModelServer() as ms:
        for status, kind in kinds.items():
            ms.fail(status, code="context_length_exceeded" if status == 400 else None, retry_after=7)
            with pytest.raises(getattr(litellm, kind)) as caught:
                await complete(litellm, ms, model, stream=False)
            assert caught.value.litellm_response_headers["retry-after"] == "7"


@pytest.mark.parametrize("model", WIRES)
async def test_an_abrupt_end_raises_in_the_stream(ms: ModelServer, litellm: Any, model: str) -> None:
    ms.truncate(abrupt=True)
    with pytest.raises(litellm.exceptions.MidStreamFallbackError, match=r"(?i)not completed|incomplete|peer closed"):
        await complete(litellm, ms, model, stream=True)
    ms.truncate()
    assert (await complete(litellm, ms, model, stream=True)).finish == "stop", "the library's own invention"
    assert [call.outcome for call in ms.calls] == ["faulted"] * 2


async def test_the_openai_client_accepts_the_responses_wire() -> None:
    async with ModelServer() as ms, openai.AsyncOpenAI(api_key="sk-test", base_url=ms.openai_base) as client:
        ms.reasoning("Let me see", then="42", times=2, usage=(10, 5, 3, 1))
        ms.call_tools([("weather", {"city": "Kyiv"})])
        ms.length_cut("cut sh")
        asked: Any = {"model": "gpt-5.2-codex", "input": "hi", "reasoning": {"effort": "xhigh"}}
        whole = await client.responses.create(**asked)
        assert whole.output_text == "42"
        assert whole.usage.output_tokens_details.reasoning_tokens == 1
        events = [event async for event in await client.responses.create(**asked, stream=True)]
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        assert "".join(deltas) == "42"
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert events[-1].type == "response.completed"
        assert events[-1].response.output_text == "42"
        called = [event async for event in await client.responses.create(**asked, stream=True)][-1].response
        assert called.output[0].arguments == '{"city": "Kyiv"}'
        cut = await client.responses.create(**asked)
        assert cut.status == "incomplete"
        assert cut.incomplete_details.reason == "max_output_tokens"
        assert ms.last.reading.effort == "xhigh"
