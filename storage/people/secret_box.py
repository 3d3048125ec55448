"""Encrypts secrets with a key in a file outside the database."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from routing.atomic_file import UNFINISHED
from routing.errors import SecretUnreadable, file_reason
from storage.outgoing_files import sync_folder

if TYPE_CHECKING:  # imported when first used
    from cryptography.fernet import Fernet, MultiFernet

OTHER_KEY = "it was encrypted with another key"


class FernetBox:
    """Implements `routing.ports.SecretBox` with Fernet (AES-128-CBC and HMAC-SHA-256). The first key encrypts; every
    key decrypts, so an old one can stay behind a new one."""

    def __init__(self, path: Path, keys: str = "") -> None:
        """`keys` are base64 of 32 bytes each, separated by commas or spaces; without them, the file at `path` has one
        per line. It is created when the first secret is stored."""
        self._path = path
        self._keys = keys
        self._fernets: list[Fernet] = []
        self._lock = threading.Lock()

    async def seal(self, text: str) -> str:
        return await asyncio.to_thread(lambda: self._opened().encrypt(text.encode()).decode())

    async def reveal(self, sealed: str) -> str:
        return await asyncio.to_thread(self._reveal, sealed)

    async def has_old_keys(self) -> bool:
        """Whether there are several keys. Creates none."""
        return len(await asyncio.to_thread(self._listed, False)) > 1

    async def resealed(self, sealed: Collection[str]) -> Mapping[str, str]:
        """For each text that an old key encrypted, the same text encrypted with the first one."""
        return await asyncio.to_thread(self._resealed, sealed)

    def _reveal(self, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            return self._opened().decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise SecretUnreadable(OTHER_KEY) from None

    def _resealed(self, sealed: Collection[str]) -> dict[str, str]:
        from cryptography.fernet import InvalidToken

        box, found = self._opened(), dict[str, str]()
        for each in sealed:
            try:
                self._fernets[0].decrypt(each)
            except InvalidToken:
                with suppress(InvalidToken):  # a key that is lost
                    found[each] = box.rotate(each).decode()
        return found

    def _opened(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        with self._lock:
            if not self._fernets:
                try:
                    self._fernets = [Fernet(key) for key in self._listed() or [""]]
                except ValueError:
                    raise SecretUnreadable("the key in {path} is not valid", path=self._path) from None
            return MultiFernet(self._fernets)

    def _listed(self, create: bool = True) -> list[str]:
        """The keys of the setting, or else of the file, which may be created."""
        try:
            if not self._keys and create and not self._path.exists():
                _create(self._path)
            keys = self._keys or (self._path.read_text(encoding="ascii") if self._path.exists() else "")
        except (OSError, UnicodeDecodeError) as error:
            reason = file_reason(error)
            raise SecretUnreadable("{path} can't be read: {reason}", path=self._path, reason=reason) from None
        return keys.replace(",", " ").split()


def _create(path: Path) -> None:
    """Write a new key, unless another process does so at the same time: then its key counts."""
    from cryptography.fernet import Fernet

    handle, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(Fernet.generate_key() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(new, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            os.replace(new, path)
    finally:
        Path(new).unlink(missing_ok=True)
    sync_folder(path.parent)
