"""The format of backups: a tar.gz, encrypted if there is a passphrase, written and read as a stream.

Its members are HEAD (JSON), DATABASE (a SQLite file), the files of the workspace under WORKSPACE, and last SUMS, the
SHA-256 of each file in the form of sha256sum: `tar xzf` and `sha256sum -c SHA256SUMS` check an archive by hand.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO

from bot.ops.backup.contents import Entry
from bot.ops.backup.encryption import DecryptingReader, EncryptingWriter, Undecipherable, is_encrypted
from routing.errors import ConfigError

FORMAT = 1
HEAD, DATABASE, WORKSPACE, SUMS = "tierbot-backup.json", "database.db", "workspace/", "SHA256SUMS"
BLOCK = 1 << 18
MAX_HEAD_BYTES = 1 << 20
_DAMAGE = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, Undecipherable, ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class Head:
    """What an archive is. `created_at` is in Unix seconds; `rows` are the numbers of rows by table."""

    format: int
    tierbot: str
    revision: str
    created_at: float
    rows: Mapping[str, int]


class ArchiveWriter:
    """Writes an archive into `target`; the empty file `sums` collects the sums meanwhile. `on_step` is called often; an
    exception of it ends the writing."""

    def __init__(self, target: BinaryIO, sums: BinaryIO, passphrase: str, on_step: Callable[[], object]) -> None:
        self._encrypting = EncryptingWriter(target, passphrase) if passphrase else None
        self._gzip = gzip.GzipFile("", "wb", fileobj=self._encrypting or target, mtime=0)
        self._tar = _Tar(fileobj=self._gzip, mode="w")
        self._sums = sums
        self._digest = hashlib.sha256()
        self._on_step = on_step
        self.files = 0

    def head(self, head: Head) -> None:
        data = json.dumps(asdict(head), indent=1).encode()
        self.add(Entry(HEAD, "file", 0o600, head.created_at, len(data), stream=io.BytesIO(data)))

    def add(self, entry: Entry) -> bool:
        """Add an entry. False if its file became shorter meanwhile: zeros then replace the end."""
        self._on_step()
        if entry.stream is None:
            self._tar.addfile(_header(entry))
            return True
        content = _Content(entry.stream, entry.size, self._on_step)
        self._tar.addfile(_header(entry), content)
        self._tar.members.clear()
        line = _line(entry.path, content.digest.hexdigest())
        self._sums.write(line)
        self._digest.update(line)
        self.files += 1
        return content.missing == 0

    def finish(self) -> bytes:
        """Write the sums and the end; returns the digest of the sums."""
        length = self._sums.tell()
        self._sums.seek(0)
        self._tar.addfile(_header(Entry(SUMS, "file", 0o600, 0.0, length)), self._sums)
        self._tar.close()
        self._gzip.close()
        if self._encrypting is not None:
            self._encrypting.finish()
        return self._digest.digest()


class ArchiveReader:
    """Reads an archive from its start. Raises ConfigError if it is damaged, newer than this program, or not ours."""

    def __init__(self, source: BinaryIO, passphrase: str, name: str) -> None:
        """`name` is what error messages call the archive."""
        self._name = name
        self._digest = hashlib.sha256()
        encrypted = is_encrypted(source)
        try:
            plain: Any = io.BufferedReader(DecryptingReader(source, passphrase)) if encrypted else source
            self._gzip = gzip.GzipFile(fileobj=plain, mode="rb")
            self._tar = _Tar.open(fileobj=self._gzip, mode="r|", errorlevel=2)
            self.head = self._read_head()
        except _DAMAGE as error:
            raise self._explain(error) from None
        if self.head.format > FORMAT:
            raise ConfigError(
                f"{name} was made by tierbot {self.head.tierbot}, which is newer than this one: install that version "
                "to restore it. Nothing was changed."
            )

    def entries(self) -> Iterator[Entry]:
        """The database and the files of the workspace, with their path in the archive. Once the last one was read, the
        whole archive is known to be what was written; until then, none of it is."""
        try:
            while (member := self._tar.next()) is not None:
                self._tar.members.clear()
                if member.name == SUMS:
                    self._check_end(member)
                    return
                yield from self._entry(member)
        except _DAMAGE as error:
            raise self._explain(error) from None
        raise self._damaged()

    @property
    def digest(self) -> bytes:
        """The digest of the sums of all files read."""
        return self._digest.digest()

    def _read_head(self) -> Head:
        member = self._tar.next()
        if member is None or member.name != HEAD or not member.isreg() or member.size > MAX_HEAD_BYTES:
            raise ValueError("no head")
        content = self._content(member)
        data = json.loads(content.read(member.size))
        self._sum(member.name, content)
        if data["format"] != FORMAT:
            return Head(int(data["format"]), str(data.get("tierbot", "?")), "", 0.0, {})
        return Head(**data)

    def _entry(self, member: tarfile.TarInfo) -> Iterator[Entry]:
        entry = Entry(member.name, "file", member.mode & 0o777, float(member.mtime))
        if member.isreg():
            content = self._content(member)
            yield replace(entry, size=member.size, stream=content)  # type: ignore[arg-type]  # it only needs `read`
            while content.read(BLOCK):
                pass
            self._sum(member.name, content)
        elif member.isdir():
            yield replace(entry, kind="folder")
        elif member.issym():
            yield replace(entry, kind="link", target=member.linkname)
        else:
            raise ValueError("a member of a kind that no backup has")

    def _content(self, member: tarfile.TarInfo) -> _Content:
        stream = self._tar.extractfile(member)
        if stream is None:
            raise ValueError("no content")
        return _ArchivedContent(stream, member.size, self._explain)  # type: ignore[arg-type]  # it only needs `read`

    def _sum(self, name: str, content: _Content) -> None:
        if content.missing:
            raise EOFError
        self._digest.update(_line(name, content.digest.hexdigest()))

    def _check_end(self, member: tarfile.TarInfo) -> None:
        """Compare the sums, and read up to the end of the file, whose checksum is there."""
        content = self._content(member)
        while content.read(BLOCK):
            pass
        if content.missing or content.digest.digest() != self.digest or self._tar.next() is not None:
            raise ValueError("other content than was written")
        while rest := self._gzip.read(BLOCK):
            if rest.strip(b"\0"):
                raise ValueError("more content than was written")

    def _explain(self, error: BaseException) -> ConfigError:
        if isinstance(error, Undecipherable) and error.first:
            return ConfigError(
                f"The passphrase does not fit {self._name}, or the file is damaged. Nothing was changed."
            )
        return self._damaged()

    def _damaged(self) -> ConfigError:
        return ConfigError(
            f"{self._name} is damaged, cut off, or no backup of tierbot: use another backup. Nothing was changed."
        )


class _Tar(tarfile.TarFile):
    members: list[tarfile.TarInfo]
    """Every header so far, unless the list is emptied."""


class _Content:
    """A stream of exactly `size` bytes, and their digest. What is missing at its end is replaced by zeros."""

    def __init__(self, stream: BinaryIO, size: int, on_step: Callable[[], object] = lambda: None) -> None:
        self._stream = stream
        self._left = size
        self._on_step = on_step
        self.digest = hashlib.sha256()
        self.missing = 0

    def read(self, size: int = -1) -> bytes:
        self._on_step()
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._stream.read(wanted)
        if len(data) < wanted:
            self.missing += wanted - len(data)
            data += bytes(wanted - len(data))
        self._left -= len(data)
        self.digest.update(data)
        return data


class _ArchivedContent(_Content):
    """Whoever reads it gets ConfigErrors for a damaged archive."""

    def __init__(self, stream: BinaryIO, size: int, explain: Callable[[BaseException], ConfigError]) -> None:
        super().__init__(stream, size)
        self._explain = explain

    def read(self, size: int = -1) -> bytes:
        try:
            return super().read(size)
        except _DAMAGE as error:
            raise self._explain(error) from None


def _header(entry: Entry) -> tarfile.TarInfo:
    header = tarfile.TarInfo(entry.path)
    header.mode, header.mtime, header.size = entry.mode, entry.changed, entry.size
    if entry.kind == "folder":
        header.type = tarfile.DIRTYPE
    elif entry.kind == "link":
        header.type, header.linkname = tarfile.SYMTYPE, entry.target
    return header


def _line(name: str, digest: str) -> bytes:
    """A line of sha256sum; a name with a line break or a backslash is escaped, which the line's first sign says."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n")
    return f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n".encode(errors="surrogateescape")
