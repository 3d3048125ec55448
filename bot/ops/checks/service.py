"""Check of the systemd service."""

from __future__ import annotations

import asyncio
import shutil

from bot.findings import Finding, ok, warn
from bot.ops.checks.inspection import Inspection
from routing.errors import ConfigError


async def service(inspection: Inspection) -> list[Finding]:
    """Whether the service runs, with this program's unit and this workspace."""
    return await asyncio.to_thread(_look, inspection)


def _look(inspection: Inspection) -> list[Finding]:
    from bot.ops.service.command import chosen
    from bot.ops.service.install import outdated
    from bot.ops.service.status import explain
    from bot.ops.service.unit import this_program, workspace_of

    found = chosen(inspection.environment, user=False)
    text, program = found.text(), this_program()
    if not text and shutil.which("systemctl") is None:
        return [ok("service", "not installed; this machine or container has no systemd")]
    if not text:
        return [ok("service", f"not installed; `{found.install_command(program)}` starts the bot at boot")]
    workspace = workspace_of(text)
    try:
        facts = found.show()
    except ConfigError as error:
        return [warn("service", str(error), "Look at it with systemctl.")]
    if facts.get("ActiveState") not in ("active", "reloading"):
        return [warn("service", f"the {found.kind} does not run", explain(found, facts))]
    if outdated(found, program):
        words = "the installed unit is out of date, or of another installation"
        return [warn("service", words, f"Renew it: {found.install_command(program)}")]
    if workspace != inspection.workspace.root.absolute():
        fix = f"To look at that one, run doctor with WORKSPACE={workspace}."
        return [warn("service", f"the {found.kind} keeps its data in {workspace}, which is not this workspace", fix)]
    return [ok("service", f"the {found.kind} is running")]
