"""What the bot's memory consists of: each component, loaded one after the other in a fresh process, and the running
bot beside the floor bot."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from benchmarks.bots.contestants import FLOOR, LITELLM, OURS, Contestant, Process, prepare_workspace
from benchmarks.bots.measure import WARM_UP, Size, busy, started_session
from benchmarks.bots.servers import ROOT, Servers, servers
from benchmarks.reporting.report import MEMORY_RATIO
from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser

BUSY, QUICK = Size(turns=200, chats=20), Size(turns=20, chats=5)
FIRST_CHAT = 60_000
HEADINGS = ("", "loaded", "RSS, MB", "total, MB", "modules", "floor, MB", "ratio", "limit", "")
START, AFTER, USE = "before the first poll", "after it", "when used"


@dataclass(frozen=True, slots=True)
class Component:
    """`load` loads it; `when` says when the bot does."""

    name: str
    when: str
    load: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Resident:
    """Resident megabytes that a component added, or all of a bot, and how many modules were imported."""

    name: str
    when: str
    megabytes: float
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


def _units() -> object:
    return import_module("pint").UnitRegistry()


COMPONENTS = (
    Component("the standard library's asyncio, ssl, logging", START, partial(_imported, "asyncio", "ssl", "logging")),
    Component("httpx", START, partial(_imported, "httpx", left_out=["httpx._main"])),
    Component("aiohttp", START, partial(_imported, "aiohttp")),
    Component("python-telegram-bot", START, partial(_imported, "telegram", left_out=["cryptography"])),
    Component("pydantic", START, partial(_imported, "pydantic")),
    Component("SQLAlchemy", START, partial(_imported, "sqlalchemy", "sqlalchemy.dialects.sqlite")),
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
    Component("the rest of the tool selection", AFTER, partial(_imported, "routing.tools.selection.catalogue")),
    Component("LiteLLM, openai, price map", AFTER, _litellm),
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
    """Load every component in a fresh process."""
    code = "from benchmarks import memory; memory.load_all()"
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, cwd=ROOT, env=kept | LITELLM, stdout=subprocess.PIPE, check=True)
    return [Resident(**line) for line in json.loads(shown.stdout)]


def load_all() -> None:
    """Load every component in this process, and print what each added, as JSON."""
    process, kept = Process(os.getpid(), 0), []
    megabytes, modules = process.rss_mb(), len(sys.modules)
    added = [{"name": "Python and this benchmark", "when": START, "megabytes": megabytes, "modules": modules}]
    for each in COMPONENTS:
        kept.append(each.load())
        more, others = process.rss_mb() - megabytes, len(sys.modules) - modules
        added.append({"name": each.name, "when": each.when, "megabytes": more, "modules": others})
        megabytes, modules = megabytes + more, modules + others
    print(json.dumps(added))


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
        lines.append(
            (part.name, part.when, f"{part.megabytes:+.1f}", f"{total:.1f}", str(part.modules), "", "", "", "")
        )
    ratio = 0.0
    for ours, floor in zip(bots[OURS.name], bots[FLOOR.name], strict=True):
        ratio = ours.megabytes / floor.megabytes
        shown = ("", f"{ours.megabytes:.1f}", "", f"{floor.megabytes:.1f}", f"{ratio:.2f}×")
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
