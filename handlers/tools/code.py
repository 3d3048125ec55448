"""Shell and Python for models, in the sandbox."""

from __future__ import annotations

from dataclasses import replace

from handlers.tools.authoring.tool import Tool
from handlers.tools.dependencies import ToolNeeds
from handlers.tools.sandbox import Cut, Ended, Ran, Sandbox, SandboxLimits
from handlers.tools.sandbox.bubblewrap import interpreter
from routing.errors import ToolFailed
from routing.types.toolkits import ToolCard
from routing.types.tools import ToolScope, Traits

NAME = "code"
LONGEST_COMMAND = 100_000
"""In bytes; Linux takes 128 kB in one argument."""
AROUND_SECONDS = 60.0
"""For measuring a folder, for a slow start and for the end, beside the waiting and the command's own time."""
_SHELL = 'for sh in /bin/bash /bin/sh; do [ -x $sh ] && exec $sh -c "$1"; done'
_INSTEAD: dict[Ended, str] = {
    "seconds": "Do less at once, in several calls; nothing keeps running in the background.",
    "memory": "Work through the data in smaller pieces.",
    "processes": "Start fewer processes and threads at a time.",
    "disk": "Delete what is not needed; write less.",
    "output": "Print less: into a file, or through head, tail or grep.",
}


def build(needs: ToolNeeds) -> tuple[Tool, ...]:
    """The functions behind the manifest."""
    return tools_of(needs.sandbox)


def tools_of(sandbox: Sandbox) -> tuple[Tool, ...]:
    """They need nothing else."""
    tools = CodeTools(sandbox)
    seconds = sandbox.wait_seconds + sandbox.limits.seconds + AROUND_SECONDS
    traits = Traits(parallel=False, changes=True, seconds=seconds)
    describe = _online if sandbox.limits.network else None
    return (
        Tool("run_command", tools.run_command, traits=traits, off=sandbox.reason_off, describe=describe),
        Tool("run_python_code", tools.run_python_code, traits=traits, off=sandbox.reason_off),
    )


def _online(card: ToolCard) -> ToolCard:
    texts = {
        size: replace(text, description=text.description.replace("offline", "online"))
        for size, text in card.texts.items()
    }
    return replace(card, texts=texts)


class CodeTools:
    """What was printed, how it ended, and last what was left out of it: together at most `output_chars` of the limits,
    so that nobody cuts off the end. A program that fails is a result; ToolFailed is for a limit and for a sandbox that
    is off."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def run_command(self, scope: ToolScope, command: str) -> str:
        """In bash where there is one, else in the system's shell."""
        line = _plain(command)
        if len(line.encode()) > LONGEST_COMMAND:
            raise ToolFailed(f"The command is longer than {LONGEST_COMMAND} bytes: write a file first, then use it.")
        return self._told(await self._sandbox.run(scope.person.id, ["/bin/sh", "-c", _SHELL, "sh", line]))

    async def run_python_code(self, scope: ToolScope, code: str) -> str:
        """In the Python that runs the bot, without the bot's packages."""
        argv = [str(interpreter()), "-u", "-X", "utf8", "-"]
        return self._told(await self._sandbox.run(scope.person.id, argv, _plain(code).encode()))

    def _told(self, ran: Ran) -> str:
        cut = _left_out(ran.cut) if ran.cut else ""
        if ran.ended != "exit":
            printed = f"{ran.output.rstrip()}\n" if ran.output.strip() else ""
            ending = f"[ended {_passed(ran.ended, self._sandbox.limits)}] {_INSTEAD[ran.ended]}"
            raise ToolFailed(f"{printed}{ending}{cut}")
        if ran.exit_code:
            return f"{_lines(ran.output)}[exit code {ran.exit_code}]{cut}"
        return f"{ran.output.rstrip() if cut else ran.output}{cut}" if ran.output.strip() else "[no output]"


def _left_out(cut: Cut) -> str:
    shown = f"showing first {cut.first} chars and the last {cut.last}"
    return f"\n[OUTPUT TRUNCATED: {cut.total} chars total, {shown}. Print less: use head, tail or grep.]"


def _plain(text: str) -> str:
    """What can be handed to a program. Raises ToolFailed for what no program takes."""
    if "\0" in text:
        raise ToolFailed("It contains a NUL character: leave it out.")
    return text.encode("utf-8", "replace").decode()


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _passed(ended: Ended, limits: SandboxLimits) -> str:
    return {
        "exit": "by itself",
        "seconds": f"after {limits.seconds:g} s: the time limit",
        "memory": f"beyond {limits.memory_bytes / 1e6:.0f} MB: the memory limit",
        "processes": f"beyond {limits.processes} processes and threads: their limit",
        "disk": f"beyond {limits.disk_bytes / 1e6:.0f} MB or {limits.files} files: the limit of the folder",
        "output": "for printing too much: the output limit",
    }[ended]
