"""The toolkit that runs shell commands and Python in the sandbox, with packages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from dataclasses import replace

from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.files.person_files import FoundFile, PersonFiles
from handlers.tools.packages import PackageTools
from handlers.tools.sandbox import Cut, Ended, ExecResult, Sandbox
from handlers.tools.sandbox.bubblewrap import interpreter
from handlers.tools.sandbox.result import describe_limit
from handlers.tools.sandbox.sandbox import OVERHEAD_SECONDS
from routing.errors import ToolFailed
from routing.types.toolkits import ToolCard
from routing.types.tools import ToolScope, Traits

NAME = "code"
MAX_COMMAND_BYTES = 100_000
"""Linux allows 128 kB per argument."""
CLOCK_SECONDS = 0.02
"""The file system's clock may be this much behind."""
_SHELL = 'for sh in /bin/bash /bin/sh; do [ -x $sh ] && exec $sh -c "$1"; done'
_INSTEAD: dict[Ended, str] = {
    "seconds": "Do less at once, in several calls; nothing keeps running in the background.",
    "memory": "Work through the data in smaller pieces.",
    "processes": "Start fewer processes and threads at a time.",
    "disk": "Delete what is not needed; write less.",
    "output": "Print less: into a file, or through head, tail or grep.",
}


def build(dependencies: ToolDependencies) -> Tools:
    sandbox, limits = dependencies.sandbox, dependencies.sandbox.limits
    files = PersonFiles(dependencies.files, limits.disk_bytes, limits.files)
    return (*tools_of(CodeTools(sandbox, files)), *tools_of(PackageTools(sandbox, dependencies.packages)))


def traits_of(sandbox: Sandbox) -> Traits:
    """The traits of every tool that runs a program."""
    return Traits(
        parallel=False, changes=True, seconds=sandbox.wait_seconds + sandbox.limits.seconds + OVERHEAD_SECONDS
    )


class CodeTools:
    """Returns the output, how the program ended, and what was omitted, together at most `output_chars`, so that no
    caller cuts off the end. A failing program is a result. Raises ToolFailed for a reached limit or an unavailable
    sandbox."""

    def __init__(self, sandbox: Sandbox, files: PersonFiles | None = None) -> None:
        """With `files`, the result names those that the program made or changed."""
        self._sandbox = sandbox
        self._files = files

    def _traits(self) -> Traits:
        return replace(traits_of(self._sandbox), private=True)  # they can read the person's files

    def _off(self) -> Awaitable[str | None]:
        return self._sandbox.reason_off()

    def _describe(self, card: ToolCard) -> ToolCard:
        """Replaces "offline" if the sandbox has a network."""
        if not self._sandbox.limits.network:
            return card
        texts = {
            size: replace(text, description=text.description.replace("offline", "online"))
            for size, text in card.texts.items()
        }
        return replace(card, texts=texts)

    @tool(traits=_traits, off=_off, describe=_describe)
    async def run_command(self, scope: ToolScope, command: str) -> str:
        """Runs the command in bash if available, else in sh."""
        line = _plain(command)
        if len(line.encode()) > MAX_COMMAND_BYTES:
            raise ToolFailed(f"The command is longer than {MAX_COMMAND_BYTES} bytes: write a file first, then use it.")
        return await self._run(scope, ["/bin/sh", "-c", _SHELL, "sh", line])

    @tool(traits=_traits, off=_off)
    async def run_python_code(self, scope: ToolScope, code: str) -> str:
        """Runs the code in the bot's Python, without the bot's packages."""
        argv = [str(interpreter()), "-u", "-X", "utf8", "-"]
        return await self._run(scope, argv, _plain(code).encode())

    async def _run(self, scope: ToolScope, argv: Sequence[str], given: bytes = b"") -> str:
        began = time.time() - CLOCK_SECONDS
        result = self._result(await self._sandbox.run(scope.person.id, argv, given))
        if self._files is None:
            return result
        changed = await asyncio.to_thread(self._files.found, scope.person.id, began)
        return f"{result.rstrip()}\n{_changed(changed)}" if changed else result

    def _result(self, ran: ExecResult) -> str:
        cut = _left_out(ran.cut) if ran.cut else ""
        if ran.ended != "exit":
            printed = f"{ran.output.rstrip()}\n" if ran.output.strip() else ""
            ending = f"[ended {describe_limit(ran.ended, self._sandbox.limits)}] {_INSTEAD[ran.ended]}"
            raise ToolFailed(f"{printed}{ending}{cut}")
        if ran.exit_code:
            return f"{_lines(ran.output)}[exit code {ran.exit_code}]{cut}"
        return f"{ran.output.rstrip() if cut else ran.output}{cut}" if ran.output.strip() else "[no output]"


def _changed(files: Sequence[FoundFile]) -> str:
    """The files that a program made, newest first; at most 250 characters."""
    names, room = [], 150
    for each in files[:5]:
        room -= len(each.path) + 2
        if room < 0:
            break
        names.append(each.path)
    more = ", …" if len(names) < len(files) else ""
    return f"[New or changed files: {', '.join(names)}{more}. send_file gives the user one of them.]"


def _left_out(cut: Cut) -> str:
    shown = f"showing first {cut.first} chars and the last {cut.last}"
    return f"\n[OUTPUT TRUNCATED: {cut.total} chars total, {shown}. Print less: use head, tail or grep.]"


def _plain(text: str) -> str:
    """Checks that the text can be passed to a program. Raises ToolFailed."""
    if "\0" in text:
        raise ToolFailed("It contains a NUL character: leave it out.")
    return text.encode("utf-8", "replace").decode()


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
