"""Checks whether commands and Python can run in the sandbox, and how well they are isolated."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from bot.findings import Finding, ok, warn
from bot.ops.checks.inspection import Check, Inspection
from handlers.tools.sandbox import Sandbox


def sandbox_check(program: str = "bwrap", user: Callable[[], int] = os.geteuid) -> Check:
    """The check, for a given bubblewrap program and user id."""

    async def sandbox(inspection: Inspection) -> list[Finding]:
        """Run a command in the sandbox, in a temporary folder."""
        tried = Sandbox(inspection.workspace.files, inspection.workspace.config().sandbox, program)
        if off := await tried.reason_off():
            return [warn("sandbox", f"run_command and run_python_code are off: {off}", _fix(off))]
        shut = (
            ""
            if tried.isolation is None or tried.isolation.proc
            else "; commands see no /proc (this service forbids it)"
        )
        found = [ok("sandbox", f"{await _version(program)} works{shut}")]
        if tried.limits.network:
            fix = "Only safe if you trust everyone you let in; sandbox.network false turns it off."
            found.append(warn("sandbox", "commands can reach the network, including the services of this machine", fix))
        if user() == 0:
            fix = "Run it as its own user, as docker/tierbot.service does."
            found.append(warn("sandbox", "the bot runs as root, and so do the commands in the sandbox", fix))
        return found

    return sandbox


sandbox = sandbox_check()


def _fix(off: str) -> str:
    if "not installed" in off:
        return "sudo apt install bubblewrap, then restart the bot. Everything else works without."
    if "too old" in off:
        return "sudo apt update && sudo apt install bubblewrap, then restart the bot. Everything else works without."
    return (
        "Let this user create namespaces: docker/tierbot.service and docker/compose.sandbox.yaml do; on Ubuntu also "
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0. Everything else works without."
    )


async def _version(program: str) -> str:
    process = await asyncio.create_subprocess_exec(program, "--version", stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode("utf-8", "replace").strip()
