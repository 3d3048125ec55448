"""Rows of numbers, from what is sent as bytes or as lists. Imported late, for it loads numpy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

# Before numpy is loaded, as in routing.tools.selection, which may come later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

if TYPE_CHECKING:
    from routing.types.vectors import Floats

_NOTHING = 1e-12
"""A shorter vector says nothing."""


def received(data: bytes, count: int, width: int) -> Floats:
    """`count` rows of float32, little-endian. Raises ValueError when the bytes are others."""
    return np.frombuffer(data, "<f4").astype(np.float32).reshape(count, width)


def sent(vectors: Floats) -> tuple[int, int, bytes]:
    """The other way: how many rows, how wide, and their bytes. Raises ValueError for what is no table."""
    count, width = np.shape(vectors)
    return count, width, np.ascontiguousarray(vectors, "<f4").tobytes()


def listed(vectors: Sequence[Sequence[float]]) -> Floats:
    """Lists of numbers as rows. Raises ValueError when they differ in length."""
    return np.array(vectors, np.float32).reshape(len(vectors), -1) if vectors else joined([])


def joined(parts: Sequence[Floats]) -> Floats:
    """One under another. Raises ValueError when they differ in width."""
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)


def placed(vectors: Floats, at: Sequence[int], count: int) -> Floats:
    """These rows at their places among `count`; the others are zero."""
    table = np.zeros((count, vectors.shape[1]), np.float32)
    table[list(at)] = vectors
    return table


def unit(vectors: Floats, count: int) -> Floats:
    """The same directions with length 1, or zero. Raises ValueError unless they are `count` rows of numbers."""
    if vectors.shape[0] != count or not (vectors.shape[1] or not count):
        raise ValueError(f"{vectors.shape[0]} vectors for {count} texts")
    if not np.isfinite(vectors).all():
        raise ValueError("a vector with something else than numbers")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(lengths > _NOTHING, vectors / np.maximum(lengths, _NOTHING), 0).astype(np.float32)
