"""Stories of the local model, told with the real one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from routing.errors import ModelUnknown, Unreachable
from routing.llm.local.process import LocalAddress
from routing.llm.local.runtime import LocalRuntime
from routing.llm.local.weights import SHIPPED, shipped_weights
from tests.routing.llm.local.conftest import IDLE_SECONDS, PATIENCE, HandClock, alive, command_line, until

MODEL = f"local/{SHIPPED}"


async def answer(address: LocalAddress, text: str, **more: object) -> AsyncGenerator[dict[str, object], None]:
    """The choices of a streamed completion; a refusal is raised as httpx.HTTPStatusError."""
    body = {"model": address.model_name, "messages": [{"role": "user", "content": text}], "stream": True, **more}
    headers = {"Authorization": f"Bearer {address.api_key}"}
    async with (
        httpx.AsyncClient(base_url=address.base_url, headers=headers, timeout=PATIENCE) as web,
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


async def test_it_answers_hello_in_a_stream(runtime: LocalRuntime) -> None:
    address = await runtime.address(MODEL)
    choices = [choice async for choice in answer(address, "hello", temperature=0, max_tokens=40)]
    assert len(choices) > 3
    assert choices[-1]["finish_reason"] == "stop"
    assert "hello" in (await whole(address, "hello", temperature=0, max_tokens=40)).casefold()


async def test_the_models_chat_template_is_used(runtime: LocalRuntime) -> None:
    address = await runtime.address(MODEL)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {address.api_key}"}) as web:
        url = f"{address.base_url.removesuffix('/v1')}/apply-template"
        prompt = (await web.post(url, json={"messages": messages})).json()["prompt"]
    turns = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert prompt == turns


async def test_nobody_without_the_key_is_answered(runtime: LocalRuntime) -> None:
    address = await runtime.address(MODEL)
    stranger = LocalAddress(address.base_url, "guess", address.model_name)
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        await whole(stranger, "hello")
    assert address.api_key not in command_line(runtime.running()[0].pid)


async def test_it_listens_on_loopback_only(runtime: LocalRuntime) -> None:
    address = await runtime.address(MODEL)
    port = httpx.URL(address.base_url).port
    assert listening_addresses() >= {f"0100007F:{port:04X}"}
    assert f"00000000:{port:04X}" not in listening_addresses()


async def test_callers_at_the_same_time_share_one_process(runtime: LocalRuntime) -> None:
    addresses = await asyncio.gather(*(runtime.address(MODEL) for _ in range(5)))
    assert len(set(addresses)) == 1
    assert [model.name for model in runtime.running()] == [SHIPPED]


async def test_a_caller_who_gives_up_does_not_spoil_the_start_for_the_others(runtime: LocalRuntime) -> None:
    hasty, patient = (asyncio.create_task(runtime.address(MODEL)) for _ in range(2))
    await asyncio.sleep(0)
    hasty.cancel()
    assert (await patient).model_name == SHIPPED
    assert hasty.cancelled()


async def test_two_conversations_with_long_prompts_run_side_by_side(runtime: LocalRuntime) -> None:
    address = await runtime.address(MODEL)
    prompts = [f"{word} " * 300 for word in ("dog", "cat")]
    answers = await asyncio.gather(*(whole(address, prompt, max_tokens=8, ignore_eos=True) for prompt in prompts))
    assert all(answers)


async def test_a_stream_that_is_left_frees_its_slot(runtime: LocalRuntime) -> None:
    address = await runtime.address(MODEL)
    for _ in range(4):
        async with aclosing(answer(address, "Count.", ignore_eos=True)) as endless:
            await anext(endless)
    assert await whole(address, "hello", max_tokens=4)


async def test_a_prompt_beyond_the_context_is_refused_with_the_reason(runtime: LocalRuntime) -> None:
    address = await runtime.address(MODEL)
    with pytest.raises(httpx.HTTPStatusError) as caught:
        await whole(address, "word " * 600)
    assert caught.value.response.status_code == 400
    error = caught.value.response.json()["error"]
    assert error["type"] == "exceed_context_size_error"
    assert "exceeds the available context size" in error["message"]


async def test_after_a_crash_the_next_need_starts_it_again(runtime: LocalRuntime) -> None:
    await runtime.address(MODEL)
    first = runtime.running()[0].pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: not runtime.running())
    assert await whole(await runtime.address(MODEL), "hello", max_tokens=4)
    assert runtime.running()[0].pid != first


async def test_an_idle_model_is_unloaded_and_comes_back(runtime: LocalRuntime, clock: HandClock) -> None:
    await runtime.address(MODEL)
    pid = runtime.running()[0].pid
    clock.now += IDLE_SECONDS
    await until(lambda: not alive(pid))
    assert runtime.running() == ()
    assert await whole(await runtime.address(MODEL), "hello", max_tokens=4)


async def test_an_answer_under_way_keeps_it_loaded(runtime: LocalRuntime, clock: HandClock) -> None:
    address = await runtime.address(MODEL)
    pid = runtime.running()[0].pid
    with runtime.in_use():
        clock.now += 10 * IDLE_SECONDS
        assert await whole(address, "Count.", max_tokens=30, ignore_eos=True)
        assert alive(pid)
    assert await runtime.address(MODEL) == address
    clock.now += IDLE_SECONDS
    await until(lambda: not alive(pid))


async def test_closing_ends_what_runs_and_what_still_loads(tmp_path: Path, clock: HandClock) -> None:
    runtime = LocalRuntime(tmp_path, clock)
    await runtime.address(MODEL)
    (tmp_path / "own.gguf").symlink_to(str(shipped_weights()))
    loading = asyncio.create_task(runtime.address("local/own"))
    await until(lambda: len(children()) == 2)
    before = children()
    await runtime.close()
    with pytest.raises(asyncio.CancelledError):
        await loading
    assert not any(map(alive, before))
    with pytest.raises(Unreachable, match="is stopping"):
        await runtime.address(MODEL)


def listening_addresses() -> set[str]:
    """Sockets of the whole machine that listen, as the kernel writes them: little-endian hexadecimal."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A"}


def children() -> set[int]:
    """Processes of this one that serve a model."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text("utf-8").rsplit(")", 1)[1].split()[1])
            command = (folder / "cmdline").read_text("utf-8")
        except OSError:
            continue
        if parent == os.getpid() and "routing.llm.local.server" in command:
            found.add(int(folder.name))
    return found


async def test_an_unknown_name_starts_nothing(runtime: LocalRuntime) -> None:
    with pytest.raises(ModelUnknown, match=r"nothing-here\.gguf"):
        await runtime.address("local/nothing-here")
    assert runtime.running() == ()
