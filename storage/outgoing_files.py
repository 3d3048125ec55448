"""The content of files that wait to be sent. It is on disk, because tens of megabytes in a transaction would block
other writers."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from routing.errors import StorageFault, system_reason
from routing.types.messages import OutboundMessage, OutgoingFile

UNUSED_SECONDS = 3600.0
"""Content that no reply and no confirmed action names is deleted at this age: the process ended between writing it and
storing the reply."""

log = logging.getLogger(__name__)


class OutgoingFileStore:
    """A file of `folder` per outgoing file, written and synced before the reply is stored, deleted once it is sent.
    Raises StorageFault if the disk fails. Without a folder, replies can't have files."""

    def __init__(self, folder: Path | None = None) -> None:
        self._given = folder

    async def keep(self, files: Sequence[OutgoingFile]) -> tuple[OutgoingFile, ...]:
        """Write the content of those that have no key yet."""
        return await asyncio.to_thread(self._keep, files)

    async def keep_all(self, messages: Sequence[OutboundMessage]) -> Sequence[OutboundMessage]:
        """The messages, with the content of their files written to disk."""
        if not any(each.files for each in messages):
            return messages
        return [replace(each, files=await self.keep(each.files)) for each in messages]

    async def read(self, file: OutgoingFile) -> OutgoingFile:
        """The file with its content; without any if the content is gone."""
        if file.data or not file.key:
            return file
        try:
            return replace(file, data=await asyncio.to_thread(self._path(file.key).read_bytes))
        except OSError as error:
            log.error("The content of %s is gone (%s)", file.name, system_reason(error))
            return file

    async def delete(self, files: Sequence[OutgoingFile]) -> None:
        """Delete content that is no longer needed; best effort, `sweep` deletes the rest."""
        if files:
            await asyncio.to_thread(self._delete, [each.key for each in files if each.key])

    async def sweep(self, used: Collection[str]) -> None:
        """Delete what is not among the keys in `used`."""
        if self._given is None:
            return
        await asyncio.to_thread(self._sweep, used)

    @property
    def _folder(self) -> Path:
        if self._given is None:
            raise RuntimeError("there is no folder for outgoing files")
        return self._given

    def _path(self, key: str) -> Path:
        return self._folder / Path(key).name

    def _keep(self, files: Sequence[OutgoingFile]) -> tuple[OutgoingFile, ...]:
        kept = []
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for each in files:
                key = each.key or secrets.token_hex(16)
                if not each.key:
                    self._write(key, each.data)
                kept.append(replace(each, key=key, data=b""))
            sync_folder(self._folder)
        except OSError as error:
            self._delete([each.key for each, given in zip(kept, files, strict=False) if not given.key])
            words = "files to send can't be stored ({error})"
            raise StorageFault(words, error=system_reason(error)) from error
        return tuple(kept)

    def _write(self, key: str, data: bytes) -> None:
        handle = os.open(self._path(key), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(handle)
        except OSError:
            self._path(key).unlink(missing_ok=True)
            raise

    def _delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with suppress(OSError):
                self._path(key).unlink(missing_ok=True)

    def _sweep(self, used: Collection[str]) -> None:
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if entry.name not in used and age > UNUSED_SECONDS:
                    self._delete([entry.name])


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
