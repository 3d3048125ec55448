"""Cleans up child processes if this process is killed."""

from __future__ import annotations

import os
import subprocess
import weakref
from contextlib import suppress

_WAIT = "last=; while read -r line; do last=$line; done\n"


class Watchdog:
    """A shell that waits on a pipe held only by this process, so it wakes when this process dies for any reason. It
    then runs `script` with the arguments $1, $2, … and the last line from `send` in $last.

    It has its own session, so that terminal signals to this process don't reach it. It ends when this object is
    garbage-collected.
    """

    def __init__(self, name: str, script: str, *arguments: str) -> None:
        """Blocks for a millisecond. `name` appears in its command line. Raises OSError."""
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT + script, name, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
            cwd="/",
            start_new_session=True,
        )
        assert self._shell.stdin is not None
        self._pipe = self._shell.stdin.fileno()
        os.set_blocking(self._pipe, False)
        self._finalizer = weakref.finalize(self, _end, self._shell)
        self._finalizer.atexit = False  # processes left at exit are cleaned up, too

    @property
    def running(self) -> bool:
        """False once something killed the shell."""
        return self._shell.poll() is None

    def send(self, line: str) -> None:
        """Send the shell one short line. Ignored if the shell was killed."""
        with suppress(BrokenPipeError):
            os.write(self._pipe, f"{line}\n".encode())

    def close(self) -> None:
        """End the shell without running the script. Blocks for a millisecond."""
        self._finalizer()


def _end(shell: subprocess.Popen[bytes]) -> None:
    assert shell.stdin is not None
    shell.kill()
    shell.stdin.close()
    shell.wait()
