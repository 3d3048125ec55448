"""Runs our bot with a sampling profiler; `python -m benchmarks --profile` starts it.

A thread looks at the stacks of all threads every few milliseconds and adds the CPU time that each thread has used since
the last look to its stack. At SIGUSR1 it writes what it counted as JSON to the file named by `PROFILE_FILE` and starts
again: `{"thread;outermost file:function;…;innermost file:function": seconds}`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

from bot.__main__ import main

FILE = "PROFILE_FILE"
_PAUSE_SECONDS = 0.002
_SWITCH_SECONDS = 0.0005
"""Python's own 5 ms between threads would let most samples wait."""


class Sampler(threading.Thread):
    """Counts CPU seconds by stack until the process ends. `wanted` asks for the file."""

    def __init__(self, target: Path) -> None:
        super().__init__(name="sampler", daemon=True)
        self.wanted = threading.Event()
        self._target = target
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._used: dict[int, float] = {}
        self._names: dict[CodeType, str] = {}

    def run(self) -> None:
        while True:
            time.sleep(_PAUSE_SECONDS)
            if self.wanted.is_set():
                self.wanted.clear()
                part = self._target.with_suffix(".part")
                part.write_text(json.dumps(self._counts), "utf-8")
                part.replace(self._target)
                self._counts.clear()
            frames = sys._current_frames()
            for thread in threading.enumerate():
                if thread is not self and thread.ident in frames:
                    self._count(thread, frames[thread.ident])

    def _count(self, thread: threading.Thread, frame: FrameType) -> None:
        assert thread.ident is not None
        try:
            used = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        except OSError:  # it has ended
            return
        spent = used - self._used.get(thread.ident, used)
        self._used[thread.ident] = used
        if spent > 0:
            self._counts[f"{thread.name};{self._stack(frame)}"] += spent

    def _stack(self, frame: FrameType | None) -> str:
        names = []
        while frame is not None:
            code = frame.f_code
            name = self._names.get(code)
            if name is None:
                name = self._names[code] = f"{_short(code.co_filename)}:{code.co_name}"
            names.append(name)
            frame = frame.f_back
        return ";".join(reversed(names))


def _short(path: str) -> str:
    """A path below site-packages, the standard library or the project."""
    for folder in ("site-packages/", f"python{sys.version_info.major}.{sys.version_info.minor}/"):
        if folder in path:
            return path.rpartition(folder)[2]
    return os.path.relpath(path)


if __name__ == "__main__":
    sys.setswitchinterval(_SWITCH_SECONDS)
    sampler = Sampler(Path(os.environ[FILE]))
    sampler.start()
    signal.signal(signal.SIGUSR1, lambda *_: sampler.wanted.set())
    sys.exit(main(["run"]))
