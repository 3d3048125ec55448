"""The toolkit `shared_folder`: copies files between the owner's folder here and one folder of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from handlers.languages import Say
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.files import listed
from handlers.tools.folder import file_in, folder_at, lstat_at, parts_of, reason, refuse_unless_own, shown
from handlers.tools.person_files import MAX_SENT_BYTES, UNFINISHED, PersonFiles, replace_file
from routing.errors import Reason, ToolFailed
from routing.types.tools import ToolScope, Traits

NAME = "shared_folder"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def build(dependencies: ToolDependencies) -> Tools:
    limits = dependencies.sandbox.limits
    files = PersonFiles(dependencies.files, limits.disk_bytes, limits.files)
    return tools_of(SharedFolderTools(files, dependencies.shared_folder, dependencies.files.parent))


class SharedFolderTools:
    """`shared` is the setting SHARED_FOLDER, checked once. A file has the same path in both folders. Links are never
    followed; without `replace` nothing is replaced. The methods raise ToolFailed."""

    def __init__(self, files: PersonFiles, shared: str, workspace: Path) -> None:
        self._files = files
        self._folder = Path(shared).expanduser() if shared else Path()
        self.why_not = _why_not(shared, self._folder, workspace)

    async def _off(self) -> str | None:
        return self.why_not

    @tool(role="owner", off=_off)
    def host_list_files(self, scope: ToolScope, path: str = ".") -> str:
        """Lists a folder below the shared one, or describes one file."""
        with self._shared() as root:
            return listed(root, parts_of(path))

    def _about_copy(self, scope: ToolScope, path: str, replace: bool = False) -> str:
        say, parts = Say(scope.language), parts_of(path)
        with self._files.open(scope.person.id, parts) as file:
            size = os.fstat(file).st_size
        with self._shared() as root:
            found = None
            with suppress(ToolFailed), folder_at(root, parts[:-1]) as folder:  # it may not exist yet
                found = lstat_at(folder, parts[-1])
        there = f"`{str(self._folder / shown(parts)).replace('`', '')}`"
        if found is None:
            return say("📤 It copies {size:,} bytes to {path} on the bot's machine.", path=there, size=size)
        refuse_unless_own(found, parts)
        if not replace:
            raise ToolFailed(f"{shown(parts)} is in the shared folder already. Ask the user whether to replace it.")
        return say("📤 It replaces {path} on the bot's machine by {size:,} bytes.", path=there, size=size)

    @tool(role="owner", traits=Traits(parallel=False), off=_off, asks=_about_copy)
    def vm_to_host(self, scope: ToolScope, path: str, replace: bool = False) -> str:
        """Copies a file of the person into the shared folder."""
        if scope.confirmed and scope.confirmed != self._about_copy(scope, path, replace):
            raise ToolFailed("The file changed since the user confirmed. Call this again.")
        name, data = self._files.read(scope.person.id, path)
        parts = parts_of(path)
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

    @tool(role="owner", traits=Traits(parallel=False, changes=True), off=_off)
    def host_to_vm(self, scope: ToolScope, path: str, replace: bool = False) -> str:
        """Copies a file of the shared folder into the person's folder, within its quota."""
        parts = parts_of(path)
        if not parts:
            raise ToolFailed("This is a folder: give the name of a file.")
        with (
            self._shared() as root,
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
        if self.why_not:
            raise ToolFailed(f"There is no shared folder: {self.why_not}.")
        try:
            root = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ToolFailed(f"The shared folder can't be opened: {reason(error)}.") from None
        try:
            yield root
        except ToolFailed as error:
            raise ToolFailed(f"In the shared folder: {error}".replace(" list_files", " host_list_files")) from None
        finally:
            os.close(root)


def _why_not(shared: str, folder: Path, workspace: Path) -> str | None:
    """Why the setting can't be used, as a clause. The workspace holds other people's files and the bot's keys."""
    if not shared:
        return Reason("SHARED_FOLDER is not set")
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
