"""Checks of the environment and of files that the owner edits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rapidfuzz import process

from bot.config.environment import unknown_variables
from bot.config.settings import Settings
from bot.findings import Finding, fail, ok, warn
from bot.ops.checks.inspection import Inspection
from routing.catalog.catalog import Catalog
from routing.catalog.discovery import PROVIDERS, load_discovered
from routing.config import jsonfile
from routing.config.jsonfile import JsonFile
from routing.config.runtime import known_keys
from routing.errors import ConfigError, FileFault, Reason
from routing.text import nearest

IGNORED_ENV = "./.env"
_NO_CONFIG = ("runtime-config.json", "none, defaults apply")
_MAX_FAULTS = 50
"""Maximum number of findings per file."""
_MIN_SIMILARITY = 80.0  # minimum similarity (0-100) of a misspelled name


async def settings(inspection: Inspection) -> list[Finding]:
    """Ignored `.env` files, and unknown names in the workspace's. Invalid values are reported by `doctor`."""
    found = []
    path = inspection.workspace.root / ".env"
    if ignored_env(inspection.workspace.root):
        found.append(warn("environment", f"{IGNORED_ENV} is ignored", f"Move its lines to {path}."))
    found += [_unknown_variable(name, str(path)) for name in unknown_variables(path)]
    return found or [ok("environment", "no unknown names")]


async def files(inspection: Inspection) -> list[Finding]:
    """Checks runtime-config.json, models.json, the discovered models and SYSTEM.md."""
    workspace = inspection.workspace
    found = [
        *_read("SYSTEM.md", "readable" if workspace.system_file.exists() else "none", workspace.instructions),
        *_read("discovered.json", "readable", lambda: load_discovered(workspace.discovered_file)),
    ]
    source = workspace.catalog_file
    if source.exists():
        found += _faults("models.json", lambda: jsonfile.load(source), Catalog)
    else:
        found.append(ok("models.json", "the bundled one"))

    unknown: tuple[str, ...] = ()

    def reads(file: JsonFile) -> None:
        nonlocal unknown
        unknown = workspace.config(file).unknown_keys

    faults = _faults("runtime-config.json", workspace.config_source, reads)
    if any(finding.status == "fail" for finding in faults):
        return [*found, *faults, *map(_unknown_key, unknown)]
    if unknown:
        return [*found, *map(_unknown_key, unknown)]
    return [*found, *faults] if workspace.config_file.exists() else [*found, ok(*_NO_CONFIG)]


async def skills(inspection: Inspection) -> list[Finding]:
    """Skills that can't be used, and why."""
    read = inspection.workspace.skills()
    fix = Reason("Fix it; the bot picks it up within seconds. The other skills work.")
    words = "{name} is skipped: {reason}"
    broken = [warn("skills", Reason(words, name=name, reason=why), fix) for name, why in read.broken.items()]
    return [*broken, ok("skills", ", ".join(read.found) or "none")]


def _read(name: str, well: str, reading: Callable[[], object]) -> list[Finding]:
    try:
        reading()
    except ConfigError as error:
        return [fail(name, error.reason, Reason("Fix what the message names."))]
    return [ok(name, well)]


def ignored_env(root: Path) -> bool:
    """Whether the working directory has a `.env` other than the workspace's, which many other programs would read."""
    here = Path(".env")
    return here.is_file() and here.resolve() != (root / ".env").resolve()


def _faults(name: str, opening: Callable[[], JsonFile], reading: Callable[[JsonFile], object]) -> list[Finding]:
    """All errors in a file: each is removed, then the file is read again."""
    found: list[Finding] = []
    try:
        file = opening()
        while len(found) < _MAX_FAULTS:
            try:
                reading(file)
            except FileFault as fault:
                found.append(fail(name, fault.reason, Reason("Fix that line.")))
                shorter = file.without(fault.path)
                if shorter.document == file.document:
                    break
                file = shorter
            else:
                break
    except ConfigError as error:
        found.append(fail(name, error.reason, Reason("Fix what the message names.")))
    return found or [ok(name, "readable")]


def _unknown_key(key: str) -> Finding:
    near = nearest(key, known_keys())
    fix = Reason("Did you mean {near}?", near=near) if near else Reason("Remove it; it has no effect.")
    return warn("runtime-config.json", Reason("{key} is not a known key", key=key), fix)


def _unknown_variable(name: str, path: str) -> Finding:
    keys = (f"{provider.upper()}_API_KEY" for provider in PROVIDERS)
    known = [*(field.upper() for field in Settings.model_fields), *keys]
    near = process.extractOne(name, known, score_cutoff=_MIN_SIMILARITY)
    fix = f"Did you mean {near[0]}?" if near else "Remove it if nothing else reads it."
    return warn("environment", f"{name} in {path} is not a setting of tierbot", fix)
