"""The endpoint client: requests and possible answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchmarks.bench_tools.__main__ import main
from benchmarks.bench_tools.endpoint import Answer, Endpoint, Unanswered, body
from routing.tools.presentation import Shown
from routing.types.llm import ToolSpec
from tests.servers.model import ModelServer

TOOL = ToolSpec("look", "Look at it.", {"type": "object", "properties": {"at": {"type": "string"}}})
SHOWN = Shown((TOOL,), (), "More tools: none.")


async def ask(url: str, shown: Shown = SHOWN, key: str | None = "sesame") -> Answer:
    endpoint = Endpoint(url, "gpt-x", key, waits=(0.0,))
    try:
        return await asyncio.to_thread(endpoint.ask, "look at me", shown)
    finally:
        endpoint.close()


async def test_the_answer_is_the_first_call_and_the_providers_token_count(ms: ModelServer) -> None:
    ms.call_tools([("look", {"at": "me"}), ("leap", {})], usage=(77, 5))
    found = await ask(ms.root)
    assert (found.called, found.tokens) == ("look", 77)
    assert found.seconds > 0
    sent = ms.last
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer sesame"
    assert sent.body["temperature"] == 0
    assert sent.body["model"] == "gpt-x"
    assert sent.body["messages"] == [
        {"role": "system", "content": "More tools: none."},
        {"role": "user", "content": "look at me"},
    ]
    assert sent.body["tools"][0]["function"] == {
        "name": "look",
        "description": "Look at it.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    }


async def test_text_is_not_a_tool_call(ms: ModelServer) -> None:
    ms.reply("I would look.", usage=None)
    found = await ask(f"{ms.root}/v1/")
    assert (found.called, found.tokens) == (None, None)


def test_without_tools_only_the_prompt_is_sent() -> None:
    assert body("m", "x", Shown(())) == {"model": "m", "temperature": 0, "messages": [{"role": "user", "content": "x"}]}


async def test_a_busy_endpoint_is_retried(ms: ModelServer) -> None:
    ms.fail(429)
    ms.call_tools([("look", {})])
    assert (await ask(ms.root)).called == "look"
    ms.fail(429, times=2)
    with pytest.raises(Unanswered, match="answered 429"):
        await ask(ms.root)


async def test_a_refusal_is_not_retried(ms: ModelServer) -> None:
    ms.fail(404, times=None)
    with pytest.raises(Unanswered, match="answered 404"):
        await ask(ms.root)
    assert len(ms.calls) == 1


async def test_no_authorization_header_without_a_key(ms: ModelServer) -> None:
    with pytest.raises(Unanswered, match="answered 401"):
        await ask(ms.root, key=None)
    assert "authorization" not in ms.last.headers


async def test_an_unreachable_server_is_reported_in_one_sentence(ms: ModelServer) -> None:
    async with ms.outage():
        with pytest.raises(Unanswered, match="cannot be reached"):
            await ask(ms.root)


async def test_every_prompt_is_sent_for_every_strategy(
    ms: ModelServer,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ms.call_tools([("web_3", {})], times=None)
    monkeypatch.setenv("THEIR_KEY", "sesame")
    study = ["--study", str(folder), "--rounds", "0", "--out", str(folder / "out.jsonl")]
    model = ["--endpoint", ms.root, "--model", "qwen2.5:1.5b", "--key-env", "THEIR_KEY"]
    assert await asyncio.to_thread(main, [*study, *model, "--ways", "all in full", "top_k"]) == 0
    written = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    answers = [each for each in written if each["kind"] == "answer"]
    assert [(each["way"], each["class"], each["right"]) for each in answers] == [
        ("all in full", "S", True),
        ("all in full", "S", False),
        ("top_k", "S", True),
        ("top_k", "S", False),
    ]
    assert {call.headers["authorization"] for call in ms.calls} == {"Bearer sesame"}
    assert [len(call.body["tools"]) for call in ms.calls] == [20, 20, 8, 8]
    assert "qwen2.5:1.5b, class S, temperature 0" in capsys.readouterr().out


def test_an_unset_key_is_reported_in_one_sentence(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = ["--endpoint", "http://127.0.0.1:1", "--model", "m", "--key-env", "A_KEY_THAT_IS_NOT_SET"]
    assert main(["--study", str(folder), "--rounds", "0", *model]) == 2
    assert capsys.readouterr().err == "A_KEY_THAT_IS_NOT_SET is not set: it should hold the endpoint's key.\n"


def test_an_endpoint_without_a_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--endpoint", "http://127.0.0.1:1"])
    assert "needs the name of a --model" in capsys.readouterr().err
