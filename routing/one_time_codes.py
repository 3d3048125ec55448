"""Stores one-time codes as salted scrypt hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets

_SALT_BYTES = 16
_COST = 2**11
"""scrypt's N with r = 8: about 5 ms and 2 MB for one guess, 180 CPU years for all 40 bits of a code."""


def hashed(code: str) -> str:
    """Salt and hash of a code in hexadecimal; different on each call."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"{salt.hex()}${_scrypt(code, salt).hex()}"


def matches(code: str, stored: str) -> bool:
    """Whether `stored` is a hash of this code. False for text that `hashed` did not make."""
    salt, _, digest = stored.partition("$")
    try:
        return hmac.compare_digest(_scrypt(code, bytes.fromhex(salt)), bytes.fromhex(digest))
    except ValueError:
        return False


def _scrypt(code: str, salt: bytes) -> bytes:
    return hashlib.scrypt(code.encode(), salt=salt, n=_COST, r=8, p=1, dklen=32)
