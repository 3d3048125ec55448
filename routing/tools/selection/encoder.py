"""The shipped encoder: texts as vectors of length 1, whose dot products are similarities."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from routing.types.vectors import Floats

FOLDER = Path(__file__).parent / "encoder"
MIN_BATCH, MAX_BATCH = 32, 512
"""Fewer texts are tokenized one by one, because sharing them among threads takes longer. More are split: the
tokenizer's output for 8,000 texts takes 10 MB."""
LENGTH_BYTES = 8
"""Size of the header length, little-endian, at the start of a safetensors file."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """`rows` (tokens × width, int8) times `scales` (tokens). The rows stay in their file (11 MB, mapped); a message
    reads a page or two per word."""

    rows: NDArray[np.int8]
    scales: Floats
    _mapped: mmap.mmap

    @classmethod
    def load(cls, path: Path) -> Self:
        """Map a file with `embeddings` (int8) and `weights`. Raises OSError, ValueError."""
        try:
            with safe_open(str(path), "numpy") as stored:  # checks the header against the file's length
                scales, embeddings = stored.get_tensor("weights"), stored.get_slice("embeddings")
                shape, dtype = embeddings.get_shape(), embeddings.get_dtype()
        except SafetensorError as error:
            raise ValueError(f"{path.name}: {error}") from error
        if dtype != "I8":
            raise ValueError(f"{path.name}: the embeddings are {dtype}, not I8")
        with path.open("rb") as file:
            size = int.from_bytes(file.read(LENGTH_BYTES), "little")
            start, end = json.loads(file.read(size))["embeddings"]["data_offsets"]
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        rows = np.frombuffer(mapped, np.int8, end - start, LENGTH_BYTES + size + start)
        return cls(rows.reshape(shape), scales, mapped)

    def release(self) -> None:
        """Drop the pages from memory, if the system can. They are read again when needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)


class StaticEncoder:
    """The mean of the vectors of a text's tokens: sentence-transformers' StaticEmbedding in numpy, 0.04 ms a text."""

    def __init__(self, tokenizer: Tokenizer, vectors: TokenVectors, name: str) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._vectors = vectors

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Self:
        """Read `tokenizer.json` and `model.safetensors`. Raises OSError, ValueError."""
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, TokenVectors.load(folder / "model.safetensors"), "static")

    def encode(self, texts: Sequence[str]) -> Floats:
        rows, scales = self._vectors.rows, self._vectors.scales
        found = np.zeros((len(texts), rows.shape[1]), np.float32)
        for row, tokens in enumerate(self._tokens(texts)):
            if tokens:
                ids = np.array(tokens)
                vector = scales[ids] @ rows[ids]
                found[row] = vector / (np.linalg.norm(vector) + 1e-12)
        return found

    def rest(self) -> None:
        """Release the memory used by encoding many texts."""
        self._vectors.release()

    def _tokens(self, texts: Sequence[str]) -> Iterator[Sequence[int]]:
        if len(texts) < MIN_BATCH:
            for text in texts:
                yield self._tokenizer.encode(text, add_special_tokens=False).ids
            return
        for start in range(0, len(texts), MAX_BATCH):
            batch = list(texts[start : start + MAX_BATCH])
            yield from (each.ids for each in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False))
