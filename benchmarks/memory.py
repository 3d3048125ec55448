"""What the bot's memory consists of: each component, loaded one after the other in a fresh process, and the running
bot beside the floor bot.

Resident memory and the share of mapped files come from smaps, the size of Python objects from tracemalloc in a second
process, because tracing itself takes memory."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.bots.contestants import FLOOR, LITELLM, OURS, Contestant, prepare_workspace
from benchmarks.bots.measure import WARM_UP, Size, busy, started_session
from benchmarks.bots.servers import ROOT, Servers, servers
from benchmarks.reporting.report import MEMORY_RATIO
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser

BUSY, QUICK = Size(turns=200, chats=20), Size(turns=20, chats=5)
FIRST_CHAT = 60_000
HEADINGS = (
    *("", "loaded", "RSS, MB", "of it files, MB", "Python objects, MB", "total, MB", "modules", "floor, MB", "ratio"),
    *("limit", ""),
)
START, AFTER, USE = "before the first poll", "after it", "when used"


@dataclass(frozen=True, slots=True)
class Component:
    """`load` loads it; `when` says when the bot does."""

    name: str
    when: str
    load: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Resident:
    """Resident megabytes that a component added, or all of a bot; those of mapped files, such as shared libraries; of
    Python objects; and how many modules were imported."""

    name: str
    when: str
    megabytes: float
    files: float = 0.0
    objects: float = 0.0
    modules: int = 0


def _imported(*modules: str, left_out: Sequence[str] = ()) -> None:
    from routing.lean_imports import without_collection

    with without_collection(*left_out):
        for name in modules:
            import_module(name)


def _litellm() -> None:
    from routing.catalog.catalog import BUNDLED, Catalog
    from routing.llm.adapter import LiteLlm
    from routing.llm.local.runtime import LocalRuntime

    asyncio.run(LiteLlm(LocalRuntime(ROOT), Catalog.load(BUNDLED)).ready())


def _encoder() -> object:
    encoder = import_module("routing.tools.selection.encoder").StaticEncoder.load()
    encoder.encode(["Turn off the lights"])
    return encoder


def _glossary() -> object:
    glossary = import_module("routing.tools.selection.glossary").Glossary.load()
    glossary.gloss("Schalte das Licht im Flur aus")
    return glossary


def _index() -> object:
    from handlers.tools import TOOLKITS
    from handlers.tools.authoring.manifests import our_toolkit

    catalogue = import_module("routing.tools.selection.catalogue").Catalogue
    return catalogue([our_toolkit(each.NAME) for each in TOOLKITS])


def _units() -> object:
    return import_module("pint").UnitRegistry()


COMPONENTS = (
    Component("the standard library's asyncio, ssl, logging", START, partial(_imported, "asyncio", "ssl", "logging")),
    Component("httpx", START, partial(_imported, "httpx", left_out=["httpx._main"])),
    Component("aiohttp", START, partial(_imported, "aiohttp")),
    Component("python-telegram-bot", START, partial(_imported, "telegram", left_out=["cryptography"])),
    Component("pydantic", START, partial(_imported, "pydantic")),
    Component("SQLAlchemy", START, partial(_imported, "sqlalchemy", "sqlalchemy.dialects.sqlite")),
    Component("uvloop", START, partial(_imported, "uvloop")),
    Component("RapidFuzz", START, partial(_imported, "rapidfuzz")),
    Component(
        "our modules",
        START,
        partial(_imported, "bot.running", "bot.app", "storage.database.migrate", "bot.adapters.telegram.platform"),
    ),
    Component("Markdown", AFTER, partial(_imported, "bot.rendering.parser", "markdown_it")),
    Component("numpy", AFTER, partial(_imported, "numpy")),
    Component("tokenizers, safetensors", AFTER, partial(_imported, "tokenizers", "safetensors")),
    Component("the encoder", AFTER, _encoder),
    Component("the glossary", AFTER, _glossary),
    Component("the tool index", AFTER, _index),
    Component("LiteLLM, openai, cryptography, price map", AFTER, _litellm),
    Component("the MCP client", USE, partial(_imported, "mcp")),
    Component("pint's units", USE, _units),
    Component("Pillow", USE, partial(_imported, "PIL.Image", "PIL.ImageDraw", "PIL.ImageFont")),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if the bot keeps the limit, else 1."""
    return answered(parser("benchmarks.memory", __doc__), arguments, lambda given: run(QUICK if given.quick else BUSY))


def run(size: Size) -> Section:
    """Measure the components, then both bots."""
    before, began = load(), time.monotonic()
    parts = components()
    with tempfile.TemporaryDirectory() as folder, servers() as both:
        bots = {each.name: running(each, both, size, Path(folder)) for each in (FLOOR, OURS)}
    return report(parts, bots, f"{time.monotonic() - began:.0f} s, {before} at the start")


def components() -> list[Resident]:
    """Load every component in a fresh process, and again in one that traces Python objects."""
    resident, traced = _loaded("memory.load_all()"), _loaded("memory.load_all(traced=True)")
    return [Resident(**line | {"objects": also["objects"]}) for line, also in zip(resident, traced, strict=True)]


def _loaded(call: str) -> list[dict[str, Any]]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    command = [sys.executable, "-c", f"from benchmarks import memory; {call}"]
    shown = subprocess.run(command, cwd=ROOT, env=kept | LITELLM, stdout=subprocess.PIPE, check=True)
    lines: list[dict[str, Any]] = json.loads(shown.stdout)
    return lines


def load_all(traced: bool = False) -> None:
    """Load every component in this process, and print what each added, as JSON."""
    if traced:
        tracemalloc.start()
    kept, added = [], [{"name": "Python and this benchmark", "when": START} | (before := _now())]
    for each in COMPONENTS:
        kept.append(each.load())
        now = _now()
        added.append({"name": each.name, "when": each.when} | {name: now[name] - before[name] for name in now})
        before = now
    print(json.dumps(added))


def _now() -> dict[str, float]:
    """Megabytes of this process now, as in Resident, and the number of modules."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    size = {name: int(kilobytes) * 1024 / 1e6 for name, kilobytes in (line.split()[:2] for line in lines)}
    files = size["Rss:"] - size["Anonymous:"]
    objects = tracemalloc.get_traced_memory()[0] / 1e6
    return {"megabytes": size["Rss:"], "files": files, "objects": objects, "modules": len(sys.modules)}


def running(contestant: Contestant, both: Servers, size: Size, folder: Path) -> list[Resident]:
    """A bot's memory after its first reply and after the turns."""
    workspace = folder / "workspace"
    prepare_workspace(workspace, both)
    with started_session(contestant, both, workspace, itertools.count(FIRST_CHAT)) as session:
        ready = session.process.rss_mb()
        for user in itertools.islice(session.chats, WARM_UP):
            session.turn(user)
        busy(session, size)
        ended = session.process.rss_mb()
    return [Resident("the bot, when ready", "", ready), Resident(f"after {size.turns * 2} turns", "", ended)]


def report(parts: Sequence[Resident], bots: Mapping[str, Sequence[Resident]], conditions: str) -> Section:
    """The table; the limit is for the last row."""
    lines, total = [HEADINGS], 0.0
    for part in parts:
        total += part.megabytes
        sizes = (f"{part.megabytes:+.1f}", f"{part.files:.1f}", f"{part.objects:.1f}", f"{total:.1f}")
        lines.append((part.name, part.when, *sizes, str(part.modules), "", "", "", ""))
    ratio = 0.0
    for ours, floor in zip(bots[OURS.name], bots[FLOOR.name], strict=True):
        ratio = ours.megabytes / floor.megabytes
        shown = ("", "", "", f"{ours.megabytes:.1f}", "", f"{floor.megabytes:.1f}", f"{ratio:.2f}×")
        lines.append((ours.name, "", *shown, "", ""))
    lines[-1] = (*lines[-1][:-2], f"≤ {MEMORY_RATIO:g}×", VERDICTS[ratio <= MEMORY_RATIO])
    figures = {
        "components": {part.name: part.megabytes for part in parts},
        **{bot: {each.name: each.megabytes for each in all_of} for bot, all_of in bots.items()},
    }
    notes = (f"Loaded in this order, so what two components share counts for the first. {conditions}.",)
    return Section("memory", tuple(lines), notes, ratio <= MEMORY_RATIO, figures)


if __name__ == "__main__":
    sys.exit(main())
