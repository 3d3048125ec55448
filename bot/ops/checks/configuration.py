"""The environment and the files that the owner edits."""

from __future__ import annotations

from collections.abc import Callable

from rapidfuzz import process

from bot.ops.checks.finding import Finding, Inspection, fail, ok, warn
from bot.settings import Settings, strange_names
from routing.errors import ConfigError
from routing.models.discovery import load_discovered

_ALIKE = 80.0  # likeness 0-100 from which a name is taken for a mistyped one


async def settings(inspection: Inspection) -> list[Finding]:
    """Values that are read late, and names in .env that mean nothing."""
    told = inspection.environment.settings
    found = _read("environment", "every variable can be read", lambda: (told.owners, told.pools))
    path = inspection.workspace.root / ".env"
    try:
        strange = strange_names(path)
    except ConfigError as error:
        return [*found, fail("environment", str(error), f"Correct or remove {path}.")]
    return [*found, *(_strange(name, str(path)) for name in strange)]


async def files(inspection: Inspection) -> list[Finding]:
    """runtime-config.json, models.json, the discovered models and SYSTEM.md."""
    workspace = inspection.workspace
    found = [
        *_read("models.json", "readable" if workspace.catalog_file.exists() else "the bundled one", workspace.catalog),
        *_read("SYSTEM.md", "readable" if workspace.system_file.exists() else "none", workspace.instructions),
        *_read("discovered.json", "readable", lambda: load_discovered(workspace.discovered_file)),
    ]
    try:
        unknown = workspace.config().unknown_keys
    except ConfigError as error:
        return [*found, fail("runtime-config.json", str(error), "Correct that line.")]
    if unknown:
        mend = "Correct the spelling or remove them; they have no effect."
        return [*found, warn("runtime-config.json", f"unknown keys: {', '.join(unknown)}", mend)]
    return [*found, ok("runtime-config.json", "readable" if workspace.config_file.exists() else "none, defaults apply")]


async def skills(inspection: Inspection) -> list[Finding]:
    """Every skill that can't be used, and why."""
    read = inspection.workspace.skills()
    mend = "Correct it; it is taken up within seconds. The other skills work."
    broken = [warn("skills", f"{name} is skipped: {reason}", mend) for name, reason in read.broken.items()]
    return [*broken, ok("skills", ", ".join(read.found) or "none")]


def _read(name: str, well: str, reading: Callable[[], object]) -> list[Finding]:
    try:
        reading()
    except ConfigError as error:
        return [fail(name, str(error), "Correct what it names.")]
    return [ok(name, well)]


def _strange(name: str, path: str) -> Finding:
    known = [field.upper() for field in Settings.model_fields]
    near = process.extractOne(name, known, score_cutoff=_ALIKE)
    mend = f"Did you mean {near[0]}?" if near else "Remove it if nothing else reads it."
    return warn("environment", f"{name} in {path} means nothing to tierbot", mend)
