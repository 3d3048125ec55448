"""Changes the files that a person would edit: checks them as the bot does, shows what changes, and can undo it."""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field

from bot.admin.diffs import FileDiff, file_diff
from bot.config.environment import Environment, EnvironmentFault, load
from bot.config.workspace import Workspace
from routing.atomic_file import write_text
from routing.bounded import Bounded
from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import RouterConfig
from routing.errors import ConfigError, file_reason

File = Literal["env", "config", "catalogue"]
FILES: tuple[File, ...] = get_args(File)
MAX_UNDO = 20
"""How many edits can be undone."""
MAX_WAITING = 50
"""How many proposals wait for "Save"; the oldest are forgotten."""
_MAX_KNOWN = 50
_MAX_CATALOGUES = 2
_MISSING = "missing"


log = logging.getLogger("bot.admin")


class Conflict(ConfigError):
    """A file changed since it was read. `diffs` say how."""

    def __init__(self, diffs: tuple[FileDiff, ...]) -> None:
        names = ", ".join(each.name for each in diffs)
        super().__init__(
            "{names} changed meanwhile, so nothing was saved. Look at the change, then try again.", names=names
        )
        self.diffs = diffs


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text of a file (None: there is no file), and its digest."""

    text: str | None
    digest: str

    @classmethod
    def of(cls, text: str | None) -> Snapshot:
        return cls(text, _MISSING if text is None else hashlib.sha256(text.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after an edit."""

    file: File
    before: Snapshot
    after: Snapshot


@dataclass(frozen=True, slots=True)
class Proposal:
    """A checked edit that waits for "Save". `page` is where it was made."""

    id: str
    summary: str
    changes: tuple[Change, ...]
    page: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A saved edit; `at` is in Unix seconds. `undoable`: none of its files has changed since."""

    id: str
    at: float
    summary: str
    files: tuple[str, ...]
    undoable: bool


class _UndoFile(BaseModel):
    """What an edit replaced (None: no file), and the digest of what it wrote."""

    file: File
    before: str | None
    after: str


class _UndoEntry(BaseModel):
    """A file of the undo log."""

    at: float = Field(ge=0, le=1e11)
    summary: str
    files: list[_UndoFile]


@dataclass(frozen=True, slots=True)
class Saved:
    """What the files say now, also if the bot has not reloaded them yet."""

    environment: Environment
    config: RouterConfig
    catalog: Catalog


class Edits:
    """All methods read or write files, so call them in a thread. Every edit is checked against the digests of the files
    that it was made from, and written atomically with mode 0600."""

    def __init__(self, workspace: Workspace, clock: Callable[[], float]) -> None:
        self._workspace = workspace
        self._clock = clock
        self._folder = workspace.edits
        self._paths: Mapping[File, Path] = {
            "env": workspace.env_file,
            "config": workspace.config_file,
            "catalogue": workspace.catalog_file,
        }
        self._waiting = Bounded[str, Proposal](MAX_WAITING)
        self._known = Bounded[str, str | None](_MAX_KNOWN)
        self._catalogs = Bounded[str, Catalog](_MAX_CATALOGUES)
        self._lock = threading.Lock()

    def name(self, file: File) -> str:
        """The file's path inside the workspace."""
        return str(self._paths[file].relative_to(self._workspace.root))

    def read(self, file: File) -> Snapshot:
        """The file as it is. Raises ConfigError if it can't be read."""
        path = self._paths[file]
        try:
            snapshot = Snapshot.of(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            snapshot = Snapshot.of(None)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("{path} can't be read: {reason}.", path=path.name, reason=file_reason(error)) from None
        self._known[snapshot.digest] = snapshot.text
        return snapshot

    def text(self, file: File) -> str:
        """The text of a JSON file; the bundled catalogue or `{}` if there is none. Raises ConfigError."""
        text = self.read(file).text
        if text is None:
            text = BUNDLED.read_text(encoding="utf-8") if file == "catalogue" else "{}"
        return text

    def document(self, file: File) -> dict[str, Any]:
        """The JSON object in a file. Raises ConfigError."""
        return jsonfile.parse(self.text(file), self._paths[file].name).document

    def saved(self) -> Saved:
        """The configuration as the files have it. Raises ConfigError if one is broken."""
        return self._checked({})

    def propose(
        self, summary: str, texts: Mapping[File, str | None], digests: Mapping[File, str], page: str
    ) -> Proposal | None:
        """Check new texts (None: no file) for files that were read with these digests. None if nothing changes. Raises
        Conflict if one changed meanwhile, ConfigError if the bot would not accept the result."""
        found = {file: self.read(file) for file in texts}
        self._check_digests(found, digests)
        changes = [Change(file, found[file], Snapshot.of(text)) for file, text in texts.items()]
        changes = [each for each in changes if each.before.digest != each.after.digest]
        if not changes:
            return None
        self._checked({each.file: each.after for each in changes})
        proposal = Proposal(secrets.token_urlsafe(16), summary, tuple(changes), page)
        self._waiting[proposal.id] = proposal
        return proposal

    def waiting(self, proposal_id: str) -> Proposal | None:
        """A proposal that was neither saved nor forgotten."""
        return self._waiting.get(proposal_id)

    def diffs(self, proposal: Proposal) -> tuple[FileDiff, ...]:
        """What the proposal changes, without secrets."""
        return tuple(self._diff(each.file, each.before, each.after) for each in proposal.changes)

    def save(self, proposal: Proposal) -> None:
        """Write the files. Raises Conflict or ConfigError, and then changes nothing."""
        with self._lock:
            found = {each.file: self.read(each.file) for each in proposal.changes}
            self._check_digests(found, {each.file: each.before.digest for each in proposal.changes})
            self._checked({each.file: each.after for each in proposal.changes})
            try:
                self._write_all(proposal)
            except OSError as error:
                raise ConfigError("The change could not be saved: {reason}.", reason=file_reason(error)) from None
            self._waiting.pop(proposal.id, None)
        log.info("[Admin] Saved %s: %s", ", ".join(self.name(each.file) for each in proposal.changes), proposal.summary)

    def _write_all(self, proposal: Proposal) -> None:
        """Write all files, or none and raise OSError."""
        undo_path, done = self._remember(proposal), list[Change]()
        try:
            for each in proposal.changes:
                _write(self._paths[each.file], each.after.text)
                done.append(each)
        except OSError:
            undo_path.unlink(missing_ok=True)
            for each in done:
                _write(self._paths[each.file], each.before.text)
            raise

    def log(self) -> tuple[Edit, ...]:
        """The edits that are kept, newest first."""
        now = {file: self._digest(file) for file in FILES}
        found = []
        for path in self._undo_paths():
            if (entry := _read(path)) is not None:
                undoable = all(now[each.file] == each.after for each in entry.files)
                names = tuple(self.name(each.file) for each in entry.files)
                found.append(Edit(path.stem, entry.at, entry.summary, names, undoable))
        return tuple(found)

    def undo(self, edit_id: str) -> Proposal | None:
        """A proposal that takes an edit back; None if there is no such edit. Raises Conflict if one of its files
        changed since."""
        path = next((each for each in self._undo_paths() if each.stem == edit_id), None)
        entry = _read(path) if path is not None else None
        if entry is None:
            return None
        texts = {each.file: each.before for each in entry.files}
        digests = {each.file: each.after for each in entry.files}
        return self.propose(f"Undo: {entry.summary}".replace("Undo: Undo: ", ""), texts, digests, "/changes")

    def _digest(self, file: File) -> str:
        """The file's digest; empty if it can't be read."""
        try:
            return self.read(file).digest
        except ConfigError:
            return ""

    def _check_digests(self, found: Mapping[File, Snapshot], digests: Mapping[File, str]) -> None:
        diffs = []
        for file, now in found.items():
            digest = digests.get(file, "")
            if digest != now.digest:
                then = Snapshot(self._known[digest], digest) if digest in self._known else now
                diffs.append(self._diff(file, then, now))
        if diffs:
            raise Conflict(tuple(diffs))

    def _checked(self, after: Mapping[File, Snapshot]) -> Saved:
        """What the bot would read. Faults of an unchanged `.env` are not this edit's."""
        given = self._workspace.environment.given
        try:
            environment = load(given, (after["env"].text or "") if "env" in after else None)
        except EnvironmentFault as fault:
            if "env" in after:
                raise
            environment = fault.rest
        workspace = Workspace(environment, self._workspace.conceal)
        workspace.conceal(environment.secrets())
        config = workspace.config(self._parsed(after.get("config") or self.read("config"), "config"))
        return Saved(environment, config, self._catalog(after.get("catalogue") or self.read("catalogue")))

    def _catalog(self, snapshot: Snapshot) -> Catalog:
        """Parsing the catalogue takes 20 ms, so the last ones are kept."""
        found = self._catalogs.get(snapshot.digest)
        if found is None:
            name, text = self._paths["catalogue"].name, snapshot.text
            found = Catalog.load(BUNDLED) if text is None else Catalog.parse(text, name)
            self._catalogs[snapshot.digest] = found
        return found

    def _parsed(self, snapshot: Snapshot, file: File) -> jsonfile.JsonFile:
        return jsonfile.parse("{}" if snapshot.text is None else snapshot.text, self._paths[file].name)

    def _diff(self, file: File, before: Snapshot, after: Snapshot) -> FileDiff:
        return file_diff(self.name(file), file == "env", before.text or "", after.text or "")

    def _remember(self, proposal: Proposal) -> Path:
        """Add an edit to the undo log; its file."""
        files = [
            _UndoFile(file=each.file, before=each.before.text, after=each.after.digest) for each in proposal.changes
        ]
        self._folder.mkdir(mode=0o700, exist_ok=True)
        number = max((int(each.stem) for each in self._undo_paths()), default=0) + 1
        entry = _UndoEntry(at=self._clock(), summary=proposal.summary, files=files)
        path = self._folder / f"{number:06d}.json"
        _write(path, entry.model_dump_json())
        for old in self._undo_paths()[MAX_UNDO:]:
            old.unlink(missing_ok=True)
        return path

    def _undo_paths(self) -> list[Path]:
        """The files of the undo log, newest first."""
        if not self._folder.is_dir():
            return []
        return sorted((each for each in self._folder.glob("*.json") if each.stem.isdecimal()), reverse=True)


def _read(path: Path) -> _UndoEntry | None:
    """An edit of the undo log; None if its file is damaged."""
    try:
        return _UndoEntry.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def _write(path: Path, text: str | None) -> None:
    """Replace or delete a file."""
    if text is None:
        path.resolve().unlink(missing_ok=True)
    else:
        write_text(path, text, 0o600)
