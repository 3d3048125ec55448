"""The measured bots: command lines and environments."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bots.servers import ROOT, Servers

LITELLM = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_MODE": "PRODUCTION",
}
"""The same for all bots: without these the library downloads a price map at every start."""
KEY = "sk-benchmark-0000000000"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A bot to be measured. `streams`: it reads the model's answer as a stream. `variables`: its own environment
    variables, besides the common ones."""

    name: str
    command: tuple[str, ...]
    streams: bool
    variables: tuple[tuple[str, str], ...] = ()

    def environment(self, servers: Servers, workspace: Path) -> dict[str, str]:
        """Its configuration: our bot's product defaults, except rate limits."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        telegram = {"TELEGRAM_BOT_TOKEN": servers.token, "TELEGRAM_API_ROOT": servers.telegram_root}
        model = {"OPENAI_BASE_URL": f"{servers.model.root}/v1", "OPENAI_API_KEY": KEY}
        ours = {"WORKSPACE": str(workspace), "BOT_ACCESS": "open", "USER_RATE_LIMIT": "off"}
        return kept | LITELLM | telegram | model | ours | {"TELEGRAM_FLOOD_LIMIT": "off"} | dict(self.variables)


OURS = Contestant("ours", ("-m", "bot", "run"), streams=True)
FLOOR = Contestant("floor", ("-m", "benchmarks.bots.floor"), streams=False)
FLOOR_STREAMING = Contestant("floor, streaming", ("-m", "benchmarks.bots.floor", "--stream"), streams=True)
CONTESTANTS = (FLOOR, FLOOR_STREAMING, OURS)
COMPARED = (FLOOR, OURS)
"""Measured in every round."""


def prepare_workspace(workspace: Path, servers: Servers) -> None:
    """A fresh workspace whose OpenAI is the loopback server."""
    shutil.rmtree(workspace, ignore_errors=True)
    config = workspace / "preferences" / "runtime-config.json"
    config.parent.mkdir(parents=True)
    openai = {"apiType": "openai", "baseUrl": f"{servers.model.root}/v1"}
    config.write_text(json.dumps({"llm": {"providers": {"openai": openai}}}), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Process:
    """A running bot; `spawned` in monotonic seconds. Figures come from /proc, so this needs Linux."""

    pid: int
    spawned: float

    def cpu_seconds(self) -> float:
        """User and system time so far, with every thread and every process it has started."""
        return sum(_cpu(pid) for pid in self._family())

    def own_cpu_seconds(self) -> float:
        """The same of this process alone, without children, to the nanosecond. The clock's number is the one that
        clock_getcpuclockid(3) would give."""
        return time.clock_gettime(~self.pid << 3 | 2)

    def rss_mb(self) -> float:
        """Resident memory, in 10⁶ bytes, of the process and those it has started."""
        return sum(_rss(pid) for pid in self._family()) / 1e6

    def _family(self) -> list[int]:
        family = [self.pid]
        for pid in family:
            for task in Path(f"/proc/{pid}/task").iterdir():
                with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended meanwhile
                    family += [int(child) for child in (task / "children").read_text().split()]
        return family


@contextmanager
def start_process(contestant: Contestant, servers: Servers, workspace: Path) -> Iterator[Process]:
    """Start a bot; at the end of the block it is asked to end, and waited for. Its log goes to a file."""
    command = [sys.executable, *contestant.command]
    environment = contestant.environment(servers, workspace)
    with (workspace.parent / "log").open("a") as log:
        spawned = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            yield Process(process.pid, spawned)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
