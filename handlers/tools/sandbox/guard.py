"""Kills sandboxes if the bot is killed. bubblewrap's own protection starts too late: it takes effect only after
bubblewrap requested it, and in the sandbox only after everything is mounted."""

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
"""Repeats until ten searches in a row find nothing: a killed process may just have forked, and a process has no command
line during exec."""


class Guard:
    """A shell that waits on a pipe held only by this process, so it wakes when the bot dies for any reason. It then
    kills every process of this user with `mark` in its command line. That is bubblewrap; the kernel kills the rest of
    each namespace."""

    def __init__(self) -> None:
        self._nonce = secrets.token_hex(8)
        self._shell: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()

    @property
    def mark(self) -> str:
        return f"tierbot-{self._nonce}"

    def start(self) -> None:
        """Starts the guard, or restarts it if the shell was killed. Blocks for a millisecond."""
        with self._starting:
            if self._shell is None or self._shell.poll() is not None:
                self._shell = _shell(self._nonce)
                weakref.finalize(self, _dismiss, self._shell)


def _shell(nonce: str) -> subprocess.Popen[bytes]:
    """Starts the shell in its own session, so that terminal signals to the bot don't reach it."""
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
    """Ends the shell. No sandbox is running any more."""
    assert shell.stdin is not None
    shell.kill()
    shell.stdin.close()
    shell.wait()
