"""The owner's toolkits, loaded from `toolkits/*.json` in the workspace."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from handlers.tools.authoring.manifests import Manifest, read_toolkit
from handlers.tools.authoring.validation import MALFORMED
from routing.errors import ConfigError, Reason, system_reason
from routing.types.toolkits import Toolkit

Stamps = Mapping[str, tuple[int, int]]

log = logging.getLogger("handlers.tools")


@dataclass(frozen=True, slots=True)
class Found:
    """The toolkits in use by file name, sorted, and the faulty files with the reason. A faulty file may also be in use
    with its last valid version."""

    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    broken: Mapping[str, Reason] = field(default_factory=dict)


class WorkspaceToolkits:
    """A broken file does not affect others. Names of tools and toolkits are unique: built-in ones come first, then the
    files in order; later duplicates are rejected."""

    def __init__(self, folder: Path, ours: Iterable[Toolkit] = ()) -> None:
        self._folder = folder
        self._ours = tuple(ours)
        self._stamps: Stamps = {}
        self._read: dict[str, Manifest | Reason] = {}
        self._good: dict[str, Manifest] = {}
        self.found = Found()

    @property
    def manifests(self) -> tuple[Manifest, ...]:
        """The manifests in use."""
        return tuple(self.found.manifests.values())

    @property
    def broken(self) -> Mapping[str, Reason]:
        """The faulty files by name, with the reason."""
        return self.found.broken

    def refresh(self) -> bool:
        """Loads changed files and returns whether anything changed. Reads files, so don't call it on the event loop or
        concurrently."""
        try:
            stamps = self._stamped()
        except OSError as error:
            return self._take(
                {
                    self._folder.name: Reason(
                        "{file} can't be read: {error}.", file=self._folder.name, error=system_reason(error)
                    )
                }
            )
        for name in self._stamps.keys() - stamps.keys():
            self._read.pop(name)
            self._good.pop(name, None)
        for name, stamp in stamps.items():
            if self._stamps.get(name) != stamp:
                self._read[name] = self._manifest(name)
        self._stamps = stamps
        return self._take({})

    def _stamped(self) -> Stamps:
        """The modification time (ns) and size of each file; empty if the folder does not exist."""
        if not self._folder.exists():
            return {}
        files = (each for each in self._folder.iterdir() if each.suffix == ".json" and not each.name.startswith("."))
        found = {}
        for path in files:
            try:
                stat = path.stat()
                found[path.name] = (stat.st_mtime_ns, stat.st_size)
            except OSError:  # removed meanwhile, or a broken link
                found[path.name] = (0, 0)
        return found

    def _manifest(self, name: str) -> Manifest | Reason:
        try:
            return read_toolkit(self._folder / name)
        except ConfigError as error:
            return error.reason.changed(_printable)
        except (OSError, *MALFORMED) as error:
            log.exception("[Toolkits] %s", _printable(name))
            words = "{file} can't be loaded ({error})."
            return Reason(words, file=_printable(name), error=type(error).__name__)

    def _take(self, broken: dict[str, Reason]) -> bool:
        """Combines the loaded files. A faulty file keeps its last valid version."""
        names = _Names(self._ours)
        used: dict[str, Manifest] = {}
        for file in sorted(self._read):
            read, title = self._read[file], _printable(file)
            fault = read if isinstance(read, Reason) else names.conflict(title, read.toolkit)
            if fault is None and isinstance(read, Manifest):
                self._good[file] = read
            elif fault is not None:
                broken[title] = fault
            good = self._good.get(file)
            if good is not None and names.conflict(title, good.toolkit) is None:
                names.take(title, good.toolkit)
                used[title] = good
        before, self.found = self.found, Found(used, broken)
        for reason in (each for each in broken.values() if each not in before.broken.values()):
            log.error("[Toolkits] %s", reason)
        for warning in (each for manifest in used.values() for each in manifest.warnings):
            if not any(warning in manifest.warnings for manifest in before.manifests.values()):
                log.warning("[Toolkits] %s", warning)
        return self.found != before


class _Names:
    """The names already taken, and their files."""

    def __init__(self, ours: Iterable[Toolkit]) -> None:
        self._toolkits: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        for each in ours:
            self.take(Reason("our toolkit {name}", name=each.name), each)

    def take(self, owner: str, toolkit: Toolkit) -> None:
        self._toolkits[toolkit.name] = owner
        self._tools |= dict.fromkeys((tool.name for tool in toolkit.tools), owner)

    def conflict(self, file: str, toolkit: Toolkit) -> Reason | None:
        """Why the toolkit is rejected; None if it is accepted."""
        if owner := self._toolkits.get(toolkit.name):
            words = "{file}: the name {name} is taken by {owner}. Give the toolkit another name."
            return Reason(words, file=file, name=toolkit.name, owner=owner)
        for tool in toolkit.tools:
            if owner := self._tools.get(tool.name):
                words = "{file}: the tool {name} already exists in {owner}. Give it another name."
                return Reason(words, file=file, name=tool.name, owner=owner)
        return None


def _printable(text: str) -> str:
    """Replaces the non-printable characters of a file name."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
