"""What ends a server when the bot is killed. The protocol has only the end of its stdin for that, and a server may not
look there, or its grandchildren may not."""

from __future__ import annotations

import asyncio
from contextlib import suppress

_SCRIPT = """
read -r group || exit 0
read -r _
sleep "$1"
kill -s TERM -- "-$group"
sleep "$1"
kill -s KILL -- "-$group"
"""


class Guard:
    """A shell that waits at a pipe whose other end only this process holds, so that it wakes at any death of ours: a
    server that did not end by then is ended with its process group."""

    def __init__(self, shell: asyncio.subprocess.Process) -> None:
        self._shell = shell

    @classmethod
    async def stand(cls, patience: float) -> Guard:
        """It gives a server `patience` seconds to see the end of its stdin, and again after SIGTERM. It is in a session
        of its own, so that what ends the bot from its terminal does not end it, too."""
        shell = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _SCRIPT, "mcp-guard", f"{patience:g}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
            cwd="/",
            start_new_session=True,
        )
        return cls(shell)

    def watch(self, group: int) -> None:
        """From now on."""
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{group}\n".encode())

    async def dismiss(self) -> None:
        """Nothing is left to end: the group's number may soon be another's."""
        with suppress(ProcessLookupError):
            self._shell.kill()
        await self._shell.wait()
