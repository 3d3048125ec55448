"""`tierbot service status` and `logs`: the state of the service in words, and its journal."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from datetime import datetime

from bot.findings import size
from bot.ops.service.install import outdated
from bot.ops.service.systemctl import Service
from bot.ops.service.unit import NAME, Program, workspace_of
from handlers.replies.duration import format_duration
from routing.errors import ConfigError

UNSET = 2**64 - 1
"""What systemd writes for a number that it does not know."""


def status(service: Service, program: Program) -> int:
    """Print the state of the service; returns 0 if it is healthy, else 1."""
    if not service.text():
        print(_not_installed(service, program))
        return 1
    facts = service.show()
    healthy = facts.get("ActiveState") in ("active", "reloading")
    for line in (*_state(service, facts), *_details(service, facts)):
        print(line)
    if outdated(service, program):
        words = "The installed unit is out of date, or of another installation. Renew it:"
        print(f"{words} {service.install_command(program)}")
    if healthy:
        print("Healthy: it answers systemd's watchdog.")
    elif words := service.log_end():
        print(f"The end of its log:\n{words}", end="")
    return int(not healthy)


def show_log(service: Service, program: Program, follow: bool, lines: int, since: str) -> int:
    """Print the journal of the service; returns only on an error."""
    if shutil.which("journalctl") is None:
        raise ConfigError("journalctl is not installed. The service's log is in systemd's journal.")
    if not service.text():
        raise ConfigError(_not_installed(service, program))
    options = ("--follow",) if follow else ("--no-pager",)
    command = service.journal(*options, *(("--since", since) if since else ("--lines", str(lines))))
    os.execvp(command[0], command)


def _not_installed(service: Service, program: Program) -> str:
    return f"There is no {service.kind}. Install it: {service.install_command(program)}"


def explain(service: Service, facts: Mapping[str, str]) -> str:
    """Why the service does not run, and what to do; one sentence each."""
    start = f"{service.sudo}systemctl {service.option}start {NAME}"
    if facts.get("SubState") == "auto-restart":
        return "It ended, and systemd starts it again in a few seconds. If that goes on, its log says why."
    if facts.get("ActiveState") == "activating":
        return "It is starting."
    if facts.get("ActiveState") == "deactivating":
        return "It is stopping: running turns may finish."
    match facts.get("Result", ""), facts.get("ExecMainStatus", ""):
        case "exit-code", "2":
            return f"Something must be fixed first; the log says what. Then: {start}"
        case "watchdog", _:
            return f"It made no progress, so systemd ended it. Start it again: {start}"
        case "oom-kill", _:
            return f"The memory was full. Use a smaller local model, then: {start}"
        case "start-limit-hit", _:
            return f"It ended too often. When the cause is fixed: {start}"
        case "success", _:
            return f"It was stopped. Start it: {start}"
        case result, _:
            return f"It failed ({result or 'unknown'}). The log says why. Then: {start}"


def _state(service: Service, facts: Mapping[str, str]) -> Iterator[str]:
    if facts.get("ActiveState") not in ("active", "reloading"):
        yield f"tierbot is installed as a {service.kind}, and does not run."
        yield explain(service, facts)
        return
    yield f"tierbot runs as a {service.kind}{_since(facts)}."
    if words := facts.get("StatusText", ""):
        yield f"{words}."


def _details(service: Service, facts: Mapping[str, str]) -> Iterator[str]:
    if (memory := _number(facts, "MemoryCurrent")) is not None and memory:
        yield f"Memory: {size(memory)}."
    if restarts := _number(facts, "NRestarts"):
        yield f"Restarted by systemd: {restarts:,} time{'s' * (restarts > 1)} since it was started."
    if facts.get("UnitFileState") == "disabled":
        yield f"It does not start at boot. To change that: {service.sudo}systemctl {service.option}enable {NAME}"
    yield f"Workspace: {workspace_of(service.text())}"


def _since(facts: Mapping[str, str]) -> str:
    """When it became active, from the monotonic time, which has no locale and no time zone."""
    started = _number(facts, "ActiveEnterTimestampMonotonic")
    if not started:
        return ""
    seconds = time.clock_gettime(time.CLOCK_MONOTONIC) - started / 1e6
    return f" since {datetime.fromtimestamp(time.time() - seconds):%Y-%m-%d %H:%M} ({format_duration(seconds)})"


def _number(facts: Mapping[str, str], name: str) -> int | None:
    text = facts.get(name, "")
    return int(text) if text.isdigit() and int(text) != UNSET else None
