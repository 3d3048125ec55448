"""The shipped model, served once per test worker, and helpers for processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from routing.llm.local.runtime import LocalAddress
from routing.llm.local.weights import SHIPPED, shipped_weights
from routing.process import ROOT

# Long enough for a machine that does ten other things; no test waits it out.
TIMEOUT_SECONDS = 60.0
SERVER = [sys.executable, "-m", "routing.llm.local.server", "--context", "512"]


@dataclass(slots=True)
class ManualClock:
    """Manual time in Unix seconds."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="session")
def served() -> Iterator[LocalAddress]:
    """The address of the shipped model."""
    command = [*SERVER, "--model", str(shipped_weights()), "--name", SHIPPED]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"the key\n")
    process.stdin.flush()
    port = json.loads(process.stdout.readline())["port"]
    yield LocalAddress(f"http://127.0.0.1:{port}/v1", "the key", SHIPPED)
    process.communicate(timeout=TIMEOUT_SECONDS)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text("utf-8")
    except (ProcessLookupError, FileNotFoundError):
        return False
