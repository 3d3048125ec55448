"""Workspace tools that run a program in the sandbox, in the person's folder."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

from handlers.tools.authoring.manifests import Manifest
from handlers.tools.authoring.tasks import Program
from handlers.tools.authoring.tool import Tool
from handlers.tools.code import AROUND_SECONDS
from handlers.tools.sandbox import ExecResult, Sandbox
from routing.errors import ToolFailed
from routing.types.tools import ToolScope, Traits


def programs_of(manifest: Manifest, sandbox: Sandbox) -> tuple[Tool, ...]:
    """The tools of a manifest that have a `command`, in order."""
    seconds = sandbox.wait_seconds + sandbox.limits.seconds + AROUND_SECONDS
    traits = Traits(parallel=False, changes=True, seconds=seconds)
    return tuple(
        Tool(
            name,
            _Running(name, way.argv, sandbox).execute,
            manifest.role,
            replace(traits, confirm=way.confirm),
            sandbox.reason_off,
        )
        for name, way in manifest.ways.items()
        if isinstance(way, Program)
    )


class _Running:
    def __init__(self, name: str, argv: Collection[str], sandbox: Sandbox) -> None:
        self._name = name
        self._argv = tuple(argv)
        self._sandbox = sandbox

    async def execute(self, scope: ToolScope, /, **arguments: object) -> str:
        """The program's output. Raises ToolFailed, with the output, if it is stopped or its exit code is not 0."""
        return self._told(await self._sandbox.run(scope.person.id, self._argv, json.dumps(arguments).encode()))

    def _told(self, ran: ExecResult) -> str:
        printed = ran.output.strip()
        cut = f"\n[OUTPUT TRUNCATED: {ran.cut.total} chars total]" if ran.cut else ""
        if ran.ended == "exit" and ran.exit_code == 0:
            return f"{printed or '[no output]'}{cut}"
        reason = f"[exit code {ran.exit_code}]" if ran.ended == "exit" else f"[ended by its limit on {ran.ended}]"
        raise ToolFailed(f"{self._name} failed {reason}: {printed or 'it said nothing'}{cut}")
