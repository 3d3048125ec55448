"""Vectors of messages, to compare a message with earlier ones."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from routing.policy.auto.classifier import buckets
from routing.policy.auto.preprocessing import PreparedMessage
from routing.types.vectors import Floats

WIDTH = 512
"""Length of hashed vectors: a message has 20 to 150 words and parts of words."""


def hashed(message: PreparedMessage) -> Floats:
    """The words and parts of words of a message, hashed with signs. For bots without the shipped encoder: it finds the
    same words, not the same meaning."""
    vector = np.zeros(WIDTH, np.float32)
    for bucket in buckets(message):
        number = crc32(bucket.to_bytes(4, "little"))
        vector[number % WIDTH] += 1 if number & 0x10000 else -1
    return vector


def pack(vector: Floats) -> bytes:
    """One signed byte per number, of any scale: a cosine changes by at most 0.004 (measured). Empty for a vector of
    zeros."""
    most = float(np.abs(vector).max(initial=0.0))
    return np.round(vector * (127 / most)).astype(np.int8).tobytes() if most else b""


def unpack(vector: bytes) -> Floats:
    """A row of length 1."""
    row = np.frombuffer(vector, np.int8).astype(np.float32)
    return row / (np.linalg.norm(row) + 1e-12)
