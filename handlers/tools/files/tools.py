"""Tools that read, write, list and send a person's files."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import stat
from datetime import UTC, datetime

from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.decoding import text_of
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.files.documents import HEAD_BYTES, kind_of, read_document, text_part
from handlers.tools.files.person_files import UNFINISHED, PersonFiles
from handlers.tools.folder import folder_at, lstat_at, missing, parts_of, printable, shown
from handlers.tools.folder import kind_of as entry_kind
from routing.errors import ToolFailed
from routing.types.messages import OutgoingFile
from routing.types.tools import ToolScope, Traits

NAME = "files"
READS = Traits(private=True)
MAX_READ_BYTES = 2_000_000
MAX_PART_BYTES = 20_000_000
"""Maximum length of a text that is read by parts."""
MAX_WRITTEN_CHARACTERS = 1_000_000
"""Maximum length of a file that write_file writes."""
MAX_LISTED = 200
PICTURES = frozenset(("image/png", "image/jpeg", "image/webp"))
"""Sent as pictures; other formats as files."""


def build(dependencies: ToolDependencies) -> Tools:
    limits = dependencies.sandbox.limits
    return tools_of(FileTools(PersonFiles(dependencies.files, limits.disk_bytes, limits.files)))


class FileTools:
    """Reads, writes, lists and sends files in the person's folder."""

    def __init__(self, files: PersonFiles) -> None:
        self._files = files

    @tool(role="guest", traits=READS)
    def read_file(self, scope: ToolScope, path: str, part: int | None = None) -> str:
        """A text whole, or a part of it; a document part by part. Raises ToolFailed if it is missing, too large or
        can't be read."""
        parts = parts_of(path)
        if not parts:
            raise ToolFailed(f"{path or 'The empty path'} is a folder: use list_files.")
        name = shown(parts)
        with self._files.open(scope.person.id, parts) as file, os.fdopen(os.dup(file), "rb") as stream:
            kind = kind_of(name, stream.read(HEAD_BYTES))
            if kind is not None and (kind != "html" or part is not None):
                return read_document(file, kind, name, part or 1).described(name)
            stream.seek(0)
            size, most = os.fstat(file).st_size, MAX_READ_BYTES if part is None else MAX_PART_BYTES
            data = stream.read(most + 1)
        if len(data) > most:
            raise ToolFailed(
                f"{name} has {size:,} bytes, more than the {most:,} that read_file takes: "
                f"read it by parts, or with run_command, such as `head -c 20000 FILE` or `sed -n '1,200p' FILE`."
            )
        if not data:
            return f"{name} is empty."
        text = text_of(data, name)
        return text if part is None else text_part(text, name, part).described(name)

    @tool(traits=Traits(parallel=False, changes=True, outside=False))
    def write_file(self, scope: ToolScope, path: str, content: str) -> str:
        """Creates or replaces a file, including its parent folders. The replacement is atomic."""
        parts = parts_of(path)
        if not parts or path.endswith("/"):
            raise ToolFailed(f"{path or 'The empty path'} names a folder: give the name of a file.")
        if len(content) > MAX_WRITTEN_CHARACTERS:
            problem = f"{len(content):,} characters are more than the {MAX_WRITTEN_CHARACTERS:,} that write_file takes"
            raise ToolFailed(f"{problem}: write several files.")
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            problem = f"Character {error.start + 1:,} of the content is half a character (a lone surrogate)"
            raise ToolFailed(f"{problem}: write it whole.") from None
        old = self._files.write(scope.person.id, parts, data)
        done = f"replaced {old.st_size:,} bytes" if old else "new file"
        return f"Wrote {len(data):,} bytes to {shown(parts)} ({done})."

    @tool(traits=Traits(parallel=False, outside=False, private=True))
    async def send_file(self, scope: ToolScope, path: str) -> str:
        """Adds a file to the answer. Pictures are shown as such."""
        if scope.attach is None:
            raise ToolFailed("No file can be sent here. Tell the person its path.")
        name, data = await asyncio.to_thread(self._files.read, scope.person.id, path)
        mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
        scope.attach(OutgoingFile(name, mime, data, "picture" if mime in PICTURES else "file"))
        return f"{name} ({len(data):,} bytes) is attached to your answer. Do not repeat its content."

    @tool(role="guest", traits=READS)
    def list_files(self, scope: ToolScope, path: str = ".") -> str:
        """Lists a folder, subfolders first, or describes one file. Times are in UTC."""
        parts = parts_of(path)
        with self._files.own(scope.person.id) as own:
            return listed(own, parts)


def listed(root: int, parts: tuple[str, ...]) -> str:
    """What is at `parts` below the descriptor `root`: the entries of a folder, or one file. Raises ToolFailed."""
    if parts:
        with folder_at(root, parts[:-1]) as above:
            found = lstat_at(above, parts[-1])
            if found is None:
                raise missing(above, parts)
            if not stat.S_ISDIR(found.st_mode):
                return _line(shown(parts), found)
    with folder_at(root, parts) as folder:
        return _listing(folder, parts)


def _listing(folder: int, parts: tuple[str, ...]) -> str:
    with os.scandir(folder) as entries:
        names = [(not entry.is_dir(follow_symlinks=False), entry.name) for entry in entries]
    names = sorted(pair for pair in names if not pair[1].startswith(UNFINISHED))
    if not names:
        return f"{shown(parts)} is an empty folder."
    seen = [(name, lstat_at(folder, name)) for _, name in names[:MAX_LISTED]]
    lines = [_line(printable(name), found) for name, found in seen if found]
    more = [f"… and {len(names) - MAX_LISTED:,} more"] if len(names) > MAX_LISTED else []
    return "\n".join([f"{shown(parts)} holds {len(names):,} (times are UTC):", *lines, *more])


def _line(name: str, found: os.stat_result) -> str:
    when, kind = f"{datetime.fromtimestamp(found.st_mtime, UTC):%Y-%m-%d %H:%M}", entry_kind(found.st_mode)
    if kind == "folder":
        return f"folder  {name}/  {when}"
    return f"{kind}  {name}  {found.st_size:,} bytes  {when}"
