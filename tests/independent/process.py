"""A third-party program on the loopback, for as long as the tests need it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Any

import httpx
import pytest

from routing.types.llm import ApiType

_LISTENS = re.compile(r"(?:running|listening) on (http://127\.0\.0\.1:[1-9]\d*)")
_STOP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as recorded by the stand-in, and its answer. `headers` are empty if it records none."""

    path: str
    status: int
    body: dict[str, Any]
    headers: Mapping[str, str]


class Program:
    """One process, ready once it has printed its address. Its output is kept for failure reports."""

    def __init__(self, command: Sequence[str]) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=kept
        )
        self.output: list[str] = []
        self.root = self._address()
        Thread(target=self._listen, daemon=True).start()

    def _address(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output.append(line)
            if found := _LISTENS.search(line):
                return found[1]
        raise RuntimeError("".join(self.output))

    def _listen(self) -> None:
        """A full pipe would stop the program."""
        assert self._process.stdout is not None
        self.output.extend(self._process.stdout)

    def end(self) -> None:
        """Ask it to end, and kill it if it doesn't."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def base(self, kind: ApiType) -> str:
        """The address for a provider's profile."""
        return self.root + {"openai": "/v1", "anthropic": "", "gemini": "/v1beta"}[kind]

    async def call(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """Make an HTTP call, and check that its status is `status`."""
        async with httpx.AsyncClient(base_url=self.root, trust_env=False, timeout=60) as client:
            answer = await client.request(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()


def missing(what: str) -> None:
    """Skip with a reason; fail if all sets are required."""
    if os.environ.get("TIERBOT_SETS") == "all":
        pytest.fail(f"TIERBOT_SETS=all, but {what}")
    pytest.skip(what)
