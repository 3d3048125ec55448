"""The worker process alone: how and when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from base64 import b64decode
from pathlib import Path

import numpy as np

from routing.process import ROOT
from tests.polling import until
from tests.routing.llm.local.conftest import TIMEOUT_SECONDS, alive
from tests.routing.tools.embedding.loaders import HERE, row

PARENT = """
import asyncio, sys, time
from routing.tools.embedding.worker import Launch, WorkerEmbedder

async def main():
    embedder = WorkerEmbedder("w", Launch("m", "tests.routing.tools.embedding.loaders:load"), time.time)
    await embedder.embed(["x"] * 20)
    print(embedder.pid, flush=True)
    await embedder.embed(["hang"])

asyncio.run(main())
"""


def command(loader: str = "load") -> list[str]:
    module = [sys.executable, "-m", "routing.tools.embedding.worker_process"]
    return [*module, "--model", "m", "--loader", f"{HERE}:{loader}"]


async def test_the_process_ends_when_stdin_closes() -> None:
    process = await asyncio.create_subprocess_exec(*command(), stdin=PIPE, stdout=PIPE, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(TIMEOUT_SECONDS):
        assert json.loads(await process.stdout.readline()) == {"ready": True}
        process.stdin.write(b'{"texts": ["tea"]}\n{"texts": [')
        process.stdin.write_eof()
        answer = json.loads(await process.stdout.readline())
        assert await process.stdout.read() == b""
        assert await process.wait() == 0
    assert (answer["rows"], answer["width"]) == (1, len(row("tea")))
    assert np.frombuffer(b64decode(answer["data"]), "<f4").tolist() == row("tea")


def test_without_a_model_the_process_reports_why_and_ends(tmp_path: Path) -> None:
    arguments = [each if each != "m" else str(tmp_path / "x") for each in command("load_badly")]
    ended = subprocess.run(
        arguments, stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT, timeout=TIMEOUT_SECONDS, check=False
    )
    assert ended.returncode == 1
    assert ended.stdout == b'{"failed": "the weights are torn"}\n'


async def test_the_process_dies_with_its_parent_even_while_computing() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, stdout=PIPE, cwd=ROOT)
    assert parent.stdout is not None
    child = int(await asyncio.wait_for(parent.stdout.readline(), TIMEOUT_SECONDS))
    assert alive(child)
    os.kill(parent.pid, signal.SIGKILL)
    await parent.wait()
    await until(lambda: not alive(child))
