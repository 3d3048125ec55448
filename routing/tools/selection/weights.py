"""The encoder's vectors, left in their file: 11 MB, of which a message needs a page or two for each word."""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from routing.types.vectors import Floats

LENGTH_BYTES = 8
"""How long the header is, little-endian, at the start of a safetensors file."""


@dataclass(frozen=True, slots=True)
class Weights:
    """`rows` has a vector for each token, `scales` what each is to be multiplied by."""

    rows: NDArray[np.int8]
    scales: Floats
    _mapped: mmap.mmap

    @classmethod
    def load(cls, path: Path) -> Self:
        """Map a file that holds `embeddings` (int8) and `weights`. Raises OSError and what safetensors raises."""
        with safe_open(str(path), "numpy") as stored:  # it checks the header against the file's length
            scales, told = stored.get_tensor("weights"), stored.get_slice("embeddings")
            shape, kind = told.get_shape(), told.get_dtype()
        if kind != "I8":
            raise ValueError(f"{path.name}: the embeddings are {kind}, not I8")
        with path.open("rb") as file:
            size = int.from_bytes(file.read(LENGTH_BYTES), "little")
            start, end = json.loads(file.read(size))["embeddings"]["data_offsets"]
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        rows = np.frombuffer(mapped, np.int8, end - start, LENGTH_BYTES + size + start)
        return cls(rows.reshape(shape), scales, mapped)

    def leave(self) -> None:
        """Let go of the pages that were read. They come back from the file, or the system's cache of it, when they are
        needed; a system that can't be told so keeps them."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)
