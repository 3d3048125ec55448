"""The output limit in every wire format, through LiteLLM's real code."""

from dataclasses import replace

import pytest

from routing.llm.adapter import LiteLlm
from tests.routing.turn.conversations import collect, over
from tests.servers.model import ModelServer

WIRES = ("chat", "responses", "custom", "claude", "adaptive claude", "gemini 2", "gemini 3")


def sent_limit(ms: ModelServer) -> object:
    """The limit in the last request, under the name of its API."""
    body = ms.last.body
    config = body.get("generationConfig") or {}
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    found = [body[name] for name in names if name in body] + [config[key] for key in config if "max" in key]
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize("wire", WIRES)
async def test_the_output_limit_is_sent(llm: LiteLlm, ms: ModelServer, wire: str) -> None:
    await collect(llm, replace(over(ms, wire), max_output=9_000))
    assert sent_limit(ms) == 9_000


@pytest.mark.parametrize("wire", ["chat", "claude", "gemini 2"])
async def test_the_output_limit_is_capped_by_the_model(llm: LiteLlm, ms: ModelServer, wire: str) -> None:
    await collect(llm, replace(over(ms, wire), max_output=9_000_000))
    most = sent_limit(ms)
    assert isinstance(most, int)
    assert 4_000 < most < 1_000_000, "what the library's map says that it may write"


@pytest.mark.parametrize("wire", ["chat", "gemini 2"])
async def test_without_a_limit_the_provider_decides(llm: LiteLlm, ms: ModelServer, wire: str) -> None:
    await collect(llm, over(ms, wire))
    assert sent_limit(ms) == []
