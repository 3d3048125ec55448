"""What a queue brings along: code of ours around it, time to import, memory."""

from __future__ import annotations

import importlib.util
import io
import statistics
import subprocess
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.queues.contender import PACKAGES, place
from benchmarks.reporting.section import Section

TIMES = 5
_IMPORT = """
import os, sys, time, pydantic, sqlalchemy.ext.asyncio, sqlalchemy.dialects.postgresql.asyncpg, asyncpg
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before, began = resident(), time.process_time()
for name in sys.argv[1:]:
    __import__(name)
print(time.process_time() - began, resident() - before)
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Lines of code in the module here, CPU seconds of an import, megabytes (10⁶ bytes) that it takes."""

    lines: int
    seconds: float
    megabytes: float


def size(name: str) -> Size:
    """Medians of fresh processes."""
    samples = []
    for _ in range(TIMES):
        command = [sys.executable, "-c", _IMPORT, *PACKAGES[name]]
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
        samples.append([float(each) for each in ended.stdout.split()])
    seconds, memory = (statistics.median(column) for column in zip(*samples, strict=True))
    spec = importlib.util.find_spec(place(name))
    assert spec is not None
    assert spec.origin is not None
    return Size(code_lines(Path(spec.origin).read_text("utf-8")), seconds, memory / 1e6)


def code_lines(source: str) -> int:
    """Lines with code: no comments, no empty lines, no docstrings."""
    found: set[int] = set()
    ignored = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    fresh = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in ignored:
            fresh = fresh or token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            continue
        if not (fresh and token.type == tokenize.STRING):
            found.update(range(token.start[0], token.end[0] + 1))
        fresh = False
    return len(found)


def table(names: Sequence[str], notes: tuple[str, ...]) -> Section:
    """One line per queue."""
    found = {name: size(name) for name in names}
    lines: list[tuple[str, ...]] = [("queue", "lines of code here", "import, ms of CPU", "memory, MB")]
    lines += [
        (name, str(each.lines), f"{each.seconds * 1e3:.0f}", f"{each.megabytes:.1f}") for name, each in found.items()
    ]
    return Section("size", tuple(lines), notes, True, {name: asdict(each) for name, each in found.items()})
