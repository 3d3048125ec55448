"""The service under a real systemd, booted in a namespace on a copy-on-write view of this machine."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.ops.systemd import PULSE_SECONDS
from tests.stories.harness import BotHarness, bot_harness

pytestmark = [pytest.mark.system, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
BOOT_SECONDS = 90
NEEDED = ("systemd-nspawn", "nsenter", "dbus-daemon")


@dataclass(frozen=True)
class Machine:
    """`pid` is its first process."""

    pid: int

    def run(self, *command: str, check: bool = True, variables: Mapping[str, str] = {}) -> str:
        """Run a program in it; returns its output."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "PYTHONDONTWRITEBYTECODE": "1"}
        enter = ("nsenter", "--target", str(self.pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup")
        done = subprocess.run(
            [*enter, "--", *command],
            env=environment | dict(variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def wait(self, condition: Callable[[], bool]) -> None:
        """Look until the condition holds; each look starts a program in the machine."""
        until = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < until

    def is_up(self) -> bool:
        return self.run("systemctl", "is-active", "basic.target", check=False).strip() == "active"


@contextmanager
def booted(folder: Path) -> Iterator[Machine]:
    """A machine with this one's files; what it changes is kept in memory. Skipped where it can't boot."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if os.geteuid() or missing:
        pytest.skip(f"system set: needs root and {', '.join(NEEDED)}")
    layers = {name: folder / "memory" / name for name in ("upper", "work", "root")}
    memory = folder / "memory"
    memory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", memory], check=True)
    for layer in layers.values():
        layer.mkdir()
    options = f"lowerdir=/,upperdir={layers['upper']},workdir={layers['work']}"
    try:
        if subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, layers["root"]], check=False).returncode:
            pytest.skip("system set: this machine can't make an overlay of its root")
        with (folder / "boot.log").open("wb") as log, _started(layers["root"], folder, log.fileno()) as machine:
            yield machine
    finally:
        subprocess.run(["umount", "--recursive", memory], check=False)


@contextmanager
def _started(root: Path, shared: Path, log: int) -> Iterator[Machine]:
    parts = {ROOT, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    binds = (f"--bind-ro={path}" for path in parts)
    command = ("systemd-nspawn", "--register=no", "--keep-unit", f"--directory={root}", "--machine=tierbot-test")
    nspawn = subprocess.Popen(
        [*command, "--boot", "--console=read-only", *binds, f"--bind={shared}:/mnt", "systemd.unit=basic.target"],
        env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    try:
        for _ in range(BOOT_SECONDS * 2):
            children = Path(f"/proc/{nspawn.pid}/task/{nspawn.pid}/children")
            first = children.read_text().split() if nspawn.poll() is None else []
            if nspawn.returncode is not None:
                break
            if first and (machine := Machine(int(first[0]))).is_up():
                yield machine
                return
            try:
                nspawn.wait(0.5)
            except subprocess.TimeoutExpired:
                continue
        pytest.skip("system set: systemd does not boot in a namespace here")
    finally:
        nspawn.terminate()
        nspawn.wait(60)


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with bot_harness(tmp_path / "share" / "workspace") as made:
        made.write_config()
        names = ("TELEGRAM_BOT_TOKEN", "TELEGRAM_API_ROOT", "OPENAI_API_KEY", "BOT_OWNERS", "EMBEDDINGS", "OLLAMA_HOST")
        lines = [f"{name}={value}\n" for name, value in made.environment().items() if name in names]
        (made.workspace / ".env").write_text("".join(lines), encoding="utf-8")
        yield made


async def test_the_service_lives_under_systemd(on: BotHarness, tmp_path: Path) -> None:
    python = str(ROOT / ".venv" / "bin" / "python")

    def live() -> None:
        with booted(tmp_path / "share") as machine:
            told = {"WORKSPACE": "/mnt/workspace", "PYTHONPATH": str(ROOT)}

            def tierbot(*arguments: str) -> str:
                return machine.run(python, "-m", "bot", "service", *arguments, variables=told)

            said = tierbot("install")
            assert "create the system user tierbot" in said
            assert "copy settings, conversations and files from /mnt/workspace to /var/lib/tierbot" in said
            assert machine.run("stat", "--format=%U %a", "/var/lib/tierbot/.env").split()[0] == "tierbot"
            said = tierbot("status")
            assert "Platforms: telegram; no message yet." in said
            assert said.endswith("Healthy: it answers systemd's watchdog.\n")

            unit = machine.run("cat", "/etc/systemd/system/tierbot.service")
            once = re.sub(r"(?m)^(WatchdogSec|Restart|Type)=.*\n", "", unit).replace("-m bot run", "-m bot doctor")
            (tmp_path / "share" / "once.service").write_text(once.replace("[Service]\n", "[Service]\nType=oneshot\n"))
            machine.run("cp", "/mnt/once.service", "/etc/systemd/system/doctor.service")
            machine.run("systemctl", "daemon-reload")
            machine.run("systemctl", "start", "doctor", check=False)
            report = machine.run("journalctl", "--unit", "doctor", "--output", "cat", "--no-pager")
            assert re.search(r"ok +sandbox +bubblewrap .* works", report), report

            journal = ("journalctl", "--unit", "tierbot", "--output", "cat", "--no-pager")
            machine.run("systemctl", "reload", "tierbot")
            machine.wait(lambda: "[Config] Reloaded" in machine.run(*journal))
            machine.run("systemctl", "kill", f"--signal={signal.SIGKILL}", "tierbot")
            machine.wait(lambda: "NRestarts=1" in machine.run("systemctl", "show", "tierbot"))
            machine.run("systemctl", "start", "tierbot")
            assert "Restarted by systemd: 1 time" in tierbot("status")

            machine.run("mkdir", "/etc/systemd/system/tierbot.service.d")
            (tmp_path / "share" / "soon.conf").write_text(f"[Service]\nWatchdogSec={PULSE_SECONDS + 5}\n")
            machine.run("cp", "/mnt/soon.conf", "/etc/systemd/system/tierbot.service.d/")
            machine.run("systemctl", "daemon-reload")
            machine.run("systemctl", "restart", "tierbot")
            machine.run("systemctl", "kill", f"--signal={signal.SIGSTOP}", "tierbot")
            machine.wait(lambda: "NRestarts=1" in machine.run("systemctl", "show", "tierbot"))
            machine.run("systemctl", "start", "tierbot")
            assert "Watchdog timeout" in machine.run(*journal)
            assert tierbot("status").endswith("Healthy: it answers systemd's watchdog.\n")

            assert "Your data is still in /var/lib/tierbot" in tierbot("uninstall")
            assert "Stopping: running turns may finish" in machine.run(*journal)
            assert machine.run("stat", "--format=%U", "/var/lib/tierbot/tierbot.db") == "tierbot\n"

    await asyncio.to_thread(live)
