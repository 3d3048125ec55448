"""Where our bot's CPU goes: shares by thread and by component. `python -m benchmarks --profile`."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchmarks.bots.contestants import Contestant, prepare_workspace
from benchmarks.bots.measure import WARM_UP, Session, Size, busy, started_session
from benchmarks.bots.sampler import FILE
from benchmarks.bots.servers import servers
from benchmarks.reporting.section import Section, load

COMPONENTS = {
    "the call through LiteLLM": r"routing/llm/(adapter|chat_stream|stream_parser|message_codec|parameters)\.py",
    "sending to Telegram": r"bot/adapters/telegram/(api|outbound|live)|telegram/_bot\.py:_(send|do)_",
    "receiving from Telegram": r"telegram/_bot\.py:get_updates|bot/adapters/telegram/",
    "storage": r"(^|;)(storage/|sqlalchemy/|aiosqlite/)",
    "choosing tools": r"routing/tools/",
    "rendering": r"bot/rendering/",
    "logging": r"(^|;)logging/",
    "the turn loop": r"routing/turn/",
    "the rest of routing": r"(^|;)routing/",
    "handlers": r"(^|;)handlers/",
    "queues and adapters": r"(^|;)bot/(?!__main__)",
    "the event loop itself": r"(^|;)asyncio/",
}
"""A stack belongs to the first component that fits any of its frames."""
_PATTERNS = {name: re.compile(pattern) for name, pattern in COMPONENTS.items()}
_BOILERPLATE = re.compile(r"<|asyncio/|threading|concurrent/|contextlib|bot/(__main__|cli)|benchmarks/")
_MAX_FUNCTIONS = 90
"""Maximum number of functions in the table."""


def run(size: Size) -> Section:
    """Profile our bot with many chats at a time."""
    with tempfile.TemporaryDirectory() as folder, servers() as both:
        target, workspace = Path(folder) / "profile.json", Path(folder) / "workspace"
        prepare_workspace(workspace, both)
        ours = Contestant("ours", ("-m", "benchmarks.bots.sampler"), streams=True, variables=((FILE, str(target)),))
        with started_session(ours, both, workspace, itertools.count(90_000)) as session:
            for user in itertools.islice(session.chats, WARM_UP):
                session.turn(user)
            _written(session, target)
            busy(session, size)
            spent = _written(session, target)
        return _section(spent, session.figures["CPU a turn with many chats, ms"], size)


def _written(session: Session, target: Path) -> dict[str, float]:
    """What the bot's sampler has counted since the last call: seconds by stack."""
    target.unlink(missing_ok=True)
    os.kill(session.process.pid, signal.SIGUSR1)
    while not target.exists():
        time.sleep(0.01)
    counted: dict[str, float] = json.loads(target.read_text("utf-8"))
    return counted


def _section(spent: Mapping[str, float], turn: float, size: Size) -> Section:
    parts: defaultdict[str, float] = defaultdict(float)
    threads: defaultdict[str, float] = defaultdict(float)
    functions: defaultdict[str, float] = defaultdict(float)
    for stack, seconds in spent.items():
        frames = stack.split(";")
        parts[component(stack)] += seconds
        threads[re.sub(r"[-_ ]?\d+$", "", frames[0])] += seconds
        for name in set(frames[1:]):
            if not _BOILERPLATE.match(name):
                functions[name] += seconds
    whole = sum(spent.values())
    rows = [("share of the CPU time", "%", "ms a turn")]
    for title, counter, count in (("thread", threads, 6), ("", parts, None), ("in", functions, _MAX_FUNCTIONS)):
        for name, seconds in sorted(counter.items(), key=lambda each: -each[1])[:count]:
            share = seconds / whole
            rows.append((f"{title} {name}".strip(), f"{share:.1%}"[:-1], f"{share * turn:.2f}"))
    notes = (
        f"{size.chats} chats at a time, {turn:.1f} ms of CPU a turn with the profiler; {load()}. Components exclude "
        "each other; functions include what they call.",
    )
    return Section("profile", tuple(rows), notes, True, {"components": parts, "threads": threads})


def component(stack: str) -> str:
    """The component of a stack `thread;frame;…`."""
    return next((name for name, pattern in _PATTERNS.items() if pattern.search(stack)), "other")
