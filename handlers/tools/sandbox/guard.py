"""What kills the sandbox when the bot is killed. bubblewrap asks the kernel for that too late: it has no parent for
which to die before it asked, and its first process inside asks only when everything is mounted."""

from __future__ import annotations

import secrets
import subprocess
import threading
import weakref

_SCRIPT = r"""
read -r _
round=0 clean=0
while [ $clean -lt 10 ] && [ $round -lt 200 ]; do
    round=$((round + 1)) clean=$((clean + 1))
    for file in $(grep -ls -e "$1" /proc/[0-9]*/cmdline); do
        file=${file#/proc/} clean=0
        kill -KILL "${file%/cmdline}"
    done
    sleep 0.05
done
"""
"""Looks until it finds nothing ten times in a row: what it kills may just have made another process, and a process that
is about to become another program has no command line for a moment."""


class Guard:
    """A shell that waits at a pipe whose other end only this process holds, so that it wakes at any death of ours. It
    then kills every process of this user with `mark` in its command line: bubblewrap's own, and with the first process
    of a namespace the kernel takes all others."""

    def __init__(self) -> None:
        self._nonce = secrets.token_hex(8)
        self._shell: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()

    @property
    def mark(self) -> str:
        return f"tierbot-{self._nonce}"

    def stand(self) -> None:
        """Begin, or begin again should somebody have ended the shell. Blocks for a millisecond."""
        with self._starting:
            if self._shell is None or self._shell.poll() is not None:
                self._shell = _shell(self._nonce)
                weakref.finalize(self, _dismiss, self._shell)


def _shell(nonce: str) -> subprocess.Popen[bytes]:
    """In a session of its own, so that what ends the bot from its terminal does not end it, too."""
    return subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, "sandbox-guard", f"[t]ierbot-{nonce}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        cwd="/",
        start_new_session=True,
    )


def _dismiss(shell: subprocess.Popen[bytes]) -> None:
    """Nothing is left to kill: no command outlives what waits for it."""
    assert shell.stdin is not None
    shell.kill()
    shell.stdin.close()
    shell.wait()
