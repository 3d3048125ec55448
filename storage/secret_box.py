"""Encrypts secrets with a key in a file outside the database."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from routing.errors import SecretUnreadable, file_reason

if TYPE_CHECKING:  # imported when first used
    from cryptography.fernet import MultiFernet

OTHER_KEY = "it was encrypted with another key"


class FernetBox:
    """Implements `routing.ports.SecretBox` with Fernet (AES-128-CBC and HMAC-SHA-256). The first key encrypts; every
    key decrypts, so an old one can stay behind a new one."""

    def __init__(self, path: Path, keys: str = "") -> None:
        """`keys` are base64 of 32 bytes each, separated by commas or spaces; without them, the file at `path` has one
        per line. It is created when the first secret is stored."""
        self._path = path
        self._keys = keys
        self._fernet: MultiFernet | None = None
        self._lock = threading.Lock()

    async def seal(self, text: str) -> str:
        return await asyncio.to_thread(lambda: self._opened().encrypt(text.encode()).decode())

    async def reveal(self, sealed: str) -> str:
        return await asyncio.to_thread(self._reveal, sealed)

    def _reveal(self, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            return self._opened().decrypt(sealed.encode()).decode()
        except InvalidToken:
            raise SecretUnreadable(OTHER_KEY) from None

    def _opened(self) -> MultiFernet:
        from cryptography.fernet import Fernet, MultiFernet

        with self._lock:
            if self._fernet is None:
                keys = (self._keys or self._file_keys()).replace(",", " ").split()
                try:
                    self._fernet = MultiFernet([Fernet(key) for key in keys])
                except ValueError:
                    raise SecretUnreadable("the key in {path} is not valid", path=self._path) from None
            return self._fernet

    def _file_keys(self) -> str:
        """The keys in the file, which is created if it does not exist."""
        from cryptography.fernet import Fernet

        try:
            if not self._path.exists():
                new = self._path.with_name(f".{self._path.name}.new")
                with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                    file.write(Fernet.generate_key() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(new, self._path)
            return self._path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            reason = file_reason(error)
            raise SecretUnreadable("{path} can't be read: {reason}", path=self._path, reason=reason) from None
