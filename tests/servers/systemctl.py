"""A stand-in for `systemctl --user` and `journalctl`: it starts what a unit says, with a notification socket, and waits
for READY=1, as systemd does for Type=notify. It does not restart anything, and has no hardening.

`install` writes both programs into a folder, which then holds the state, too.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SECONDS = 60.0


def install(folder: Path) -> None:
    """Write `systemctl`, `journalctl` and `loginctl` into `folder`, to be put first into PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("systemctl", "journalctl", "loginctl"):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I {__file__} {name} {folder} "$@"\n', encoding="utf-8")
        program.chmod(0o755)


class Manager:
    """One unit, tierbot.service, whose process is known from `state.json`."""

    def __init__(self, folder: Path, unit: Path) -> None:
        self._folder = folder
        self._unit = unit
        self._state_file = folder / "state.json"
        self._journal = folder / "journal.log"

    def run(self, action: str) -> int:
        """Carries out one action; returns the exit code."""
        with (self._folder / "actions.log").open("a", encoding="utf-8") as log:
            log.write(f"{action}\n")
        match action:
            case "start":
                return self._start()
            case "stop":
                self._stop()
            case "restart":
                self._stop()
                return self._start()
            case "show":
                for name, value in self._facts().items():
                    print(f"{name}={value}")
            case "disable":
                self._stop()
        return 0

    def logs(self, lines: int) -> None:
        if self._journal.exists():
            print("\n".join(self._journal.read_text(errors="replace").splitlines()[-lines:]))

    @property
    def _state(self) -> dict[str, Any]:
        return dict(json.loads(self._state_file.read_text())) if self._state_file.exists() else {}

    def _save(self, **state: object) -> None:
        self._state_file.write_text(json.dumps(state))

    def _facts(self) -> dict[str, object]:
        state, alive = self._state, self._alive()
        ended = "failed" if state.get("wanted") else "inactive"
        return {
            "ActiveState": "active" if alive else ended,
            "SubState": "running" if alive else "dead",
            "MainPID": state.get("pid", 0) if alive else 0,
            "Result": "success" if alive or not state.get("wanted") else "exit-code",
            "ExecMainStatus": state.get("code", 0),
            "StatusText": state.get("status", ""),
            "ActiveEnterTimestampMonotonic": state.get("since", 0),
            "MemoryCurrent": 2**64 - 1,
            "NRestarts": 0,
        }

    def _alive(self) -> bool:
        pid = int(self._state.get("pid", 0))
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if pid else "Z"
        except OSError:
            return False
        return state != "Z"

    def _start(self) -> int:
        if self._alive():
            return 0
        text = self._unit.read_text(encoding="utf-8")
        command = shlex.split(_setting(text, "ExecStart")[0])
        environment = {"PATH": "/usr/bin:/bin"} | dict(
            shlex.split(line)[0].split("=", 1) for line in _setting(text, "Environment")
        )
        address = self._folder / "notify"
        address.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end, self._journal.open("ab") as journal:
            end.bind(str(address))
            end.settimeout(0.1)
            process = subprocess.Popen(
                command,
                cwd=_setting(text, "WorkingDirectory")[0],
                env=environment | {"NOTIFY_SOCKET": str(address)},
                stdin=subprocess.DEVNULL,
                stdout=journal,
                stderr=journal,
                start_new_session=True,
            )
            until, status = time.monotonic() + SECONDS, ""
            while time.monotonic() < until and process.poll() is None:
                try:
                    told = end.recv(4096).decode()
                except TimeoutError:
                    continue
                if told == "READY=1":
                    since = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
                    self._save(pid=process.pid, wanted=True, status=status, since=since)
                    return 0
        process.kill()
        self._save(pid=0, wanted=True, code=process.wait())
        print("Job for tierbot.service failed because the control process exited with error code.", file=sys.stderr)
        return 1

    def _stop(self) -> None:
        if self._alive():
            os.kill(int(self._state["pid"]), signal.SIGTERM)
        while self._alive():
            time.sleep(0.02)
        self._save(pid=0, wanted=False)


def _setting(text: str, name: str) -> list[str]:
    return [value.replace("%%", "%").replace("$$", "$") for value in re.findall(rf"(?m)^{name}=(.*)$", text)]


def main() -> int:
    """`<program> <folder> <arguments>`."""
    name, folder, *arguments = sys.argv[1:]
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    manager = Manager(Path(folder), Path(config) / "systemd" / "user" / "tierbot.service")
    if name == "loginctl":
        return 0
    if name == "journalctl":
        manager.logs(int(arguments[arguments.index("--lines") + 1]))
        return 0
    action = next(word for word in arguments if not word.startswith("-"))
    return manager.run(action)


if __name__ == "__main__":
    sys.exit(main())
