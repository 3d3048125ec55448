"""Shared by the attacks on the sandbox."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from handlers.tools.sandbox import SandboxLimits

SECRET = "the-secret-of-the-owner"
OPEN = SandboxLimits(network=True)


@contextmanager
def outsider(mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the bot's user outside, with a secret in its environment."""
    code = f"x = '{mark}'; print(flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={"MARK": mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def outside(*command: str, **options: Any) -> str:
    """The output of a command that runs with all rights of this process."""

    def run() -> str:
        return str(subprocess.run(command, capture_output=True, text=True, timeout=60, **options).stdout)

    return await asyncio.to_thread(run)
