"""The answers of the server with the shipped model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from routing.llm.local.runtime import LocalAddress
from tests.routing.llm.local.conftest import TIMEOUT_SECONDS


async def answer(address: LocalAddress, text: str, **more: object) -> AsyncGenerator[dict[str, object], None]:
    """The choices of a streamed completion; a refusal is raised as httpx.HTTPStatusError."""
    body = {"model": address.model_name, "messages": [{"role": "user", "content": text}], "stream": True, **more}
    headers = {"Authorization": f"Bearer {address.api_key}"}
    async with (
        httpx.AsyncClient(base_url=address.base_url, headers=headers, timeout=TIMEOUT_SECONDS) as web,
        web.stream("POST", "/chat/completions", json=body) as response,
    ):
        if response.is_error:
            await response.aread()
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line.removeprefix("data: "))["choices"]:
                    yield choice


async def whole(address: LocalAddress, text: str, **more: object) -> str:
    pieces = [choice["delta"] async for choice in answer(address, text, **more)]
    return "".join(str(piece.get("content") or "") for piece in pieces if isinstance(piece, dict))


async def test_it_answers_hello_in_a_stream(served: LocalAddress) -> None:
    choices = [choice async for choice in answer(served, "hello", temperature=0, max_tokens=24)]
    assert len(choices) > 3
    assert choices[-1]["finish_reason"] == "stop"
    said = "".join(str(each["delta"].get("content") or "") for each in choices if isinstance(each["delta"], dict))
    assert "hello" in said.casefold()


async def test_the_models_chat_template_is_used(served: LocalAddress) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {served.api_key}"}) as web:
        url = f"{served.base_url.removesuffix('/v1')}/apply-template"
        prompt = (await web.post(url, json={"messages": messages})).json()["prompt"]
    turns = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert prompt == turns


async def test_a_request_without_the_key_is_refused(served: LocalAddress) -> None:
    stranger = LocalAddress(served.base_url, "guess", served.model_name)
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        await whole(stranger, "hello")


async def test_it_listens_on_loopback_only(served: LocalAddress) -> None:
    port = httpx.URL(served.base_url).port
    assert listening_addresses() >= {f"0100007F:{port:04X}"}
    assert f"00000000:{port:04X}" not in listening_addresses()


async def test_two_conversations_with_long_prompts_run_side_by_side(served: LocalAddress) -> None:
    prompts = [f"{word} " * 300 for word in ("dog", "cat")]
    answers = await asyncio.gather(
        *(whole(served, prompt, temperature=0, max_tokens=8, ignore_eos=True) for prompt in prompts)
    )
    assert all(answers)


async def test_a_stream_that_is_left_frees_its_slot(served: LocalAddress) -> None:
    for _ in range(4):
        async with aclosing(answer(served, "Count.", ignore_eos=True)) as endless:
            await anext(endless)
    assert await whole(served, "hello", temperature=0, max_tokens=4)


async def test_a_prompt_beyond_the_context_is_refused_with_the_reason(served: LocalAddress) -> None:
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await whole(served, "word " * 600)
    assert caught.value.response.status_code == 400
    error = caught.value.response.json()["error"]
    assert error["type"] == "exceed_context_size_error"
    assert "exceeds the available context size" in error["message"]


def listening_addresses() -> set[str]:
    """Sockets of the whole machine that listen, as the kernel writes them: little-endian hexadecimal."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A"}
