"""Encrypts a stream with a passphrase: scrypt for the key, ChaCha20-Poly1305 for each chunk.

A file is MAGIC, the salt (16 bytes), the start of the nonces (7 bytes), then chunks of CHUNK bytes and their tags of 16
bytes. The nonce of a chunk ends with its number (4 bytes) and 1 for the last one, else 0, so no chunk can be changed,
moved or left out (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, 2015). All of the header is
authenticated with each chunk.
"""

from __future__ import annotations

import io
import secrets
from typing import BinaryIO

MAGIC = b"tierbot encrypted backup 1\n"
CHUNK = 1 << 16
_TAG, _SALT, _PREFIX = 16, 16, 7
_SCRYPT = {"n": 2**15, "r": 8, "p": 3}
"""32 MB of memory; as strong as OWASP's first choice for passwords (128 MB), which a small machine may not have."""


class Undecipherable(Exception):
    """The passphrase is wrong, or the file is damaged. `first`: not even its first chunk can be read."""

    def __init__(self, first: bool) -> None:
        super().__init__("wrong passphrase or damaged")
        self.first = first


class _Chunks:
    """The key and the nonces of one file."""

    def __init__(self, passphrase: str, header: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

        salt = header[len(MAGIC) : len(MAGIC) + _SALT]
        self._cipher = ChaCha20Poly1305(Scrypt(salt=salt, length=32, **_SCRYPT).derive(passphrase.encode()))
        self._header = header
        self._number = 0

    def _nonce(self, last: bool) -> bytes:
        nonce = self._header[-_PREFIX:] + self._number.to_bytes(4, "big") + bytes([last])
        self._number += 1
        return nonce

    def encrypt(self, data: bytes, last: bool) -> bytes:
        return self._cipher.encrypt(self._nonce(last), data, self._header)

    def decrypt(self, data: bytes, last: bool) -> bytes:
        from cryptography.exceptions import InvalidTag

        first = self._number == 0
        try:
            return self._cipher.decrypt(self._nonce(last), data, self._header)
        except InvalidTag:
            raise Undecipherable(first) from None


class EncryptingWriter(io.RawIOBase):
    """Encrypts what is written into `target`; `finish` writes the last chunk. `target` stays open."""

    def __init__(self, target: BinaryIO, passphrase: str) -> None:
        super().__init__()
        header = MAGIC + secrets.token_bytes(_SALT + _PREFIX)
        self._target = target
        self._chunks = _Chunks(passphrase, header)
        self._waiting = bytearray()
        target.write(header)

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # any buffer is taken here as bytes
        self._waiting += data
        while len(self._waiting) > CHUNK:
            self._target.write(self._chunks.encrypt(bytes(self._waiting[:CHUNK]), last=False))
            del self._waiting[:CHUNK]
        return len(data)

    def finish(self) -> None:
        """Write the last chunk."""
        self._target.write(self._chunks.encrypt(bytes(self._waiting), last=True))
        self._waiting.clear()


class DecryptingReader(io.RawIOBase):
    """Decrypts what `source` holds, which is read from its start. Raises Undecipherable."""

    def __init__(self, source: BinaryIO, passphrase: str) -> None:
        super().__init__()
        header = source.read(len(MAGIC) + _SALT + _PREFIX)
        self._source = source
        self._chunks = _Chunks(passphrase, header)
        self._next = source.read(CHUNK + _TAG)
        self._plain = b""
        self._at = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # any buffer is taken here as bytes
        while self._at == len(self._plain) and not self._ended:
            data, self._next = self._next, self._source.read(CHUNK + _TAG)
            self._ended = not self._next
            self._plain, self._at = self._chunks.decrypt(data, last=self._ended), 0
        part = self._plain[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def is_encrypted(file: BinaryIO) -> bool:
    """Whether a file, which is at its start and stays there, begins like an encrypted backup."""
    start = file.read(len(MAGIC))
    file.seek(0)
    return start == MAGIC
