"""The server process alone: its protocol on stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import httpx

from routing.llm.local import server
from routing.llm.local.weights import shipped_weights
from routing.process import ROOT
from tests.routing.llm.local.conftest import SERVER, TIMEOUT_SECONDS


async def child(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(*SERVER, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=ROOT)


async def test_one_line_with_the_port_then_quiet_until_stdin_closes() -> None:
    process = await child("--model", str(shipped_weights()))
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(b"key\n")
    port = json.loads(await process.stdout.readline())["port"]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as web:
        assert (await web.get("/health")).status_code == 200
        assert (await web.post("/v1/chat/completions", json={"messages": []})).status_code == 401
    process.stdin.close()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        assert await process.wait() == 0
    assert await process.stdout.read() == b""
    assert await process.stderr.read() == b""


async def test_without_a_key_it_does_not_serve() -> None:
    process = await child("--model", str(shipped_weights()))
    out, err = await process.communicate(b"")
    assert (process.returncode, out) == (server.EXIT_LOAD_FAILED, b"")
    assert b"API key" in err


async def test_it_ends_on_sigterm() -> None:
    process = await child("--model", str(shipped_weights()))
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"key\n")
    await process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        assert await process.wait() == -signal.SIGTERM


def test_threads_are_physical_cores_and_few() -> None:
    assert 1 <= server.thread_count() <= server.MAX_THREADS


def test_large_weights_get_one_slot(tmp_path: Path) -> None:
    large = tmp_path / "large.gguf"
    with large.open("wb") as stream:
        stream.truncate(server.ONE_SLOT_BYTES)
    shipped = shipped_weights()
    assert shipped is not None
    assert (server.slots(shipped), server.slots(large)) == (2, 1)
