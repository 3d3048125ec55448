"""Conversions of vectors. Imported late, because it imports numpy."""

from __future__ import annotations

import os
from collections.abc import Sequence

from routing.types.vectors import Floats

# Before numpy is imported, as in routing.tools.selection.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

_MIN_LENGTH = 1e-12
"""A shorter vector becomes zero."""


def received(data: bytes, count: int, width: int) -> Floats:
    """Decode `count` rows of little-endian float32. Raises ValueError for the wrong number of bytes."""
    return np.frombuffer(data, "<f4").astype(np.float32).reshape(count, width)


def sent(vectors: Floats) -> tuple[int, int, bytes]:
    """Encode rows: count, width, bytes. Raises ValueError for anything but a matrix."""
    count, width = np.shape(vectors)
    return count, width, np.ascontiguousarray(vectors, "<f4").tobytes()


def listed(vectors: Sequence[Sequence[float]]) -> Floats:
    """Rows from lists. Raises ValueError if their lengths differ."""
    return np.array(vectors, np.float32).reshape(len(vectors), -1) if vectors else joined([])


def joined(parts: Sequence[Floats]) -> Floats:
    """Concatenated rows. Raises ValueError if their widths differ."""
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)


def placed(vectors: Floats, at: Sequence[int], count: int) -> Floats:
    """A matrix of `count` rows with `vectors` at the rows `at`, zero elsewhere."""
    table = np.zeros((count, vectors.shape[1]), np.float32)
    table[list(at)] = vectors
    return table


def unit(vectors: Floats, count: int) -> Floats:
    """Rows scaled to length 1, or zero. Raises ValueError unless they are `count` rows of finite numbers."""
    if vectors.shape[0] != count or not (vectors.shape[1] or not count):
        raise ValueError(f"{vectors.shape[0]} vectors for {count} texts")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector with values that are not numbers")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(lengths > _MIN_LENGTH, vectors / np.maximum(lengths, _MIN_LENGTH), 0).astype(np.float32)
