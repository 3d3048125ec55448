"""The toolkit `shared_folder`: copies files between the owner's folder here and one folder of the machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from handlers.languages import Say, languages
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.authoring.tool import Preview
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.files.person_files import MAX_SENT_BYTES, UNFINISHED, PersonFiles, replace_file
from handlers.tools.files.tools import listed
from handlers.tools.folder import (
    file_in,
    fingerprint,
    folder_at,
    lstat_at,
    parts_of,
    reason,
    refuse_unless_own,
    shown,
)
from routing.errors import Reason, ToolFailed
from routing.types.tools import ToolScope, Traits

NAME = "shared_folder"
NOT_SET = Reason("SHARED_FOLDER is not set")
PREVIEWED = ("path", "replace")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def build(dependencies: ToolDependencies) -> Tools:
    limits = dependencies.sandbox.limits
    files = PersonFiles(dependencies.files, limits.disk_bytes, limits.files)
    return tools_of(SharedFolderTools(files, dependencies.shared_folder, dependencies.files.parent))


@dataclass(frozen=True, slots=True)
class _Checked:
    """Why a value of the setting can't be used, or None, and the mount point on which the folder was found."""

    setting: str
    why_not: str | None
    mount: Path | None


class SharedFolderTools:
    """`shared` is the setting SHARED_FOLDER, which may change at any time. A file has the same path in both folders.
    Links are never followed; without `replace` nothing is replaced. The methods raise ToolFailed."""

    def __init__(self, files: PersonFiles, shared: Callable[[], str], workspace: Path) -> None:
        self._files = files
        self._setting = shared
        self._workspace = workspace
        self._last = _Checked("", NOT_SET, None)

    async def _off(self) -> str | None:
        """A folder that could be used is not looked at again here, because a disk that hangs would hold up every
        message."""
        setting = self._setting()
        if setting == self._last.setting and (not setting or self._last.why_not is None):
            return self._last.why_not
        return await asyncio.to_thread(self.why_not)

    def why_not(self) -> str | None:
        """Why there is no shared folder now, as a clause; None if there is one."""
        setting, last = self._setting(), self._last
        mount = last.mount if last.setting == setting else None
        why_not = _why_not(setting, mount, self._workspace)
        if why_not is None and mount is None:
            mount = _mount_of(_folder(setting))
        self._last = _Checked(setting, why_not, mount)
        return why_not

    @tool(role="owner", traits=Traits(private=True), off=_off)
    def host_list_files(self, scope: ToolScope, path: str = ".") -> str:
        """Lists a folder below the shared one, or describes one file."""
        with self._shared() as root:
            return listed(root, parts_of(path, mount=""))

    def _about_copy(self, scope: ToolScope, path: str, replace: bool = False) -> str:
        say, parts = Say(scope.language), parts_of(path)
        return self._note(say, parts, self._files.read(scope.person.id, path)[1], replace)

    def _note(self, say: Say, parts: tuple[str, ...], data: bytes, replace: bool) -> str:
        """What is copied, with a part of its SHA-256, and where it goes."""
        with self._shared() as root:
            found = None
            with suppress(ToolFailed), folder_at(root, parts[:-1]) as folder:  # it may not exist yet
                found = lstat_at(folder, parts[-1])
        there = f"`{str(_folder(self._setting()) / shown(parts)).replace('`', '')}`"
        facts = {"path": there, "size": len(data), "digest": fingerprint(data)}
        if found is None:
            return Preview(
                say("📤 It copies {size:,} bytes ({digest}) to {path} on the bot's machine.", **facts), PREVIEWED
            )
        refuse_unless_own(found, parts)
        if not replace:
            raise ToolFailed(f"{shown(parts)} is in the shared folder already. Ask the user whether to replace it.")
        words = "📤 It replaces {path} on the bot's machine by {size:,} bytes ({digest})."
        return Preview(say(words, **facts), PREVIEWED)

    @tool(role="owner", traits=Traits(parallel=False, outside=False), off=_off, asks=_about_copy)
    def vm_to_host(self, scope: ToolScope, path: str, replace: bool = False) -> str:
        """Copies a file of the person into the shared folder."""
        name, data = self._files.read(scope.person.id, path)
        parts = parts_of(path)
        if scope.confirmed and all(
            self._note(Say(language), parts, data, replace) != scope.confirmed for language in languages()
        ):
            raise ToolFailed("The file changed since the user confirmed. Call this again.")
        if parts[-1].startswith(UNFINISHED):
            raise ToolFailed(f"Names that begin with {UNFINISHED} are reserved.")
        with self._shared() as root, folder_at(root, parts[:-1], make=True) as folder:
            old = lstat_at(folder, parts[-1])
            if old is None or not replace:
                _create(folder, parts, data)
                return f"Copied {name} ({len(data):,} bytes) into the shared folder."
            refuse_unless_own(old, parts)
            replace_file(folder, parts, data, old.st_mode & 0o777)
        return f"Replaced {name} in the shared folder ({old.st_size:,} bytes) by {len(data):,} bytes."

    @tool(role="owner", traits=Traits(parallel=False, changes=True, outside=False), off=_off)
    def host_to_vm(self, scope: ToolScope, path: str, replace: bool = False) -> str:
        """Copies a file of the shared folder into the person's folder, within its quota."""
        with self._shared() as root:
            parts = parts_of(path, mount="")
            if not parts:
                raise ToolFailed("This is a folder: give the name of a file.")
            with (
                folder_at(root, parts[:-1]) as folder,
                file_in(folder, parts) as file,
                os.fdopen(os.dup(file), "rb") as stream,
            ):
                data = stream.read(MAX_SENT_BYTES + 1)
        if len(data) > MAX_SENT_BYTES:
            raise ToolFailed(f"{shown(parts)} has more than the {MAX_SENT_BYTES // 2**20} MB that can be copied.")
        old = self._files.write(scope.person.id, parts, data, replace)
        done = f"replaced {old.st_size:,} bytes" if old else "new file"
        return f"Copied {shown(parts)} ({len(data):,} bytes) from the shared folder ({done})."

    @contextmanager
    def _shared(self) -> Iterator[int]:
        """A descriptor of the shared folder. Errors inside say that they are about it."""
        if why_not := self.why_not():
            raise ToolFailed(f"There is no shared folder: {why_not}.")
        try:
            root = os.open(_folder(self._setting()), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ToolFailed(f"The shared folder can't be opened: {reason(error)}.") from None
        try:
            yield root
        except ToolFailed as error:
            raise ToolFailed(f"In the shared folder: {error}".replace(" list_files", " host_list_files")) from None
        finally:
            os.close(root)


def _folder(setting: str) -> Path:
    return Path(setting).expanduser()


def _mount_of(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if os.path.ismount(each))


def _why_not(setting: str, mount: Path | None, workspace: Path) -> str | None:
    """Why the setting can't be used, as a clause. `mount` is the mount point on which the folder was before. The
    workspace holds other people's files and the bot's keys."""
    if not setting:
        return NOT_SET
    folder = _folder(setting)
    if mount is not None and (not folder.is_dir() or _mount_of(folder) != mount):
        return Reason("the folder of SHARED_FOLDER is gone or no longer mounted")
    if not folder.is_absolute() or not folder.is_dir():
        return Reason("SHARED_FOLDER is not the absolute path of a folder")
    real, own = folder.resolve(), workspace.resolve()
    if real.is_relative_to(own) or own.is_relative_to(real):
        return Reason("SHARED_FOLDER must not contain the workspace or lie in it")
    return None


def _create(folder: int, parts: tuple[str, ...], data: bytes) -> None:
    """Writes a new file; an incomplete one is removed."""
    try:
        file = os.open(parts[-1], _NEW, 0o666, dir_fd=folder)
    except FileExistsError:
        raise ToolFailed(f"{shown(parts)} is there already. Nothing was changed.") from None
    except OSError as error:
        raise ToolFailed(f"{shown(parts)} was not written: {reason(error)}.") from None
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
    except OSError as error:
        with suppress(OSError):
            os.unlink(parts[-1], dir_fd=folder)
        raise ToolFailed(f"{shown(parts)} was not written: {reason(error)}.") from None
