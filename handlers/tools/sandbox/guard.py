"""Kills sandboxes if the bot is killed. bubblewrap's own protection starts too late: it takes effect only after
bubblewrap requested it, and in the sandbox only after everything is mounted."""

from __future__ import annotations

import secrets
import threading

from routing.watchdog import Watchdog

_KILL_MARKED = r"""
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
    """If the bot dies, kills every process of this user with `mark` in its command line. That is bubblewrap; the kernel
    kills the rest of each namespace. A process id would be too late: the bot can die before it knows the id."""

    def __init__(self) -> None:
        self._nonce = secrets.token_hex(8)
        self._watchdog: Watchdog | None = None
        self._starting = threading.Lock()

    @property
    def mark(self) -> str:
        return f"tierbot-{self._nonce}"

    def start(self) -> None:
        """Starts the guard, or restarts it if the shell was killed. Blocks for a millisecond."""
        with self._starting:
            if self._watchdog is None or not self._watchdog.running:
                self._watchdog = Watchdog("sandbox-guard", _KILL_MARKED, f"[t]ierbot-{self._nonce}")
