"""Texts as vectors of length 1, whose products are their likeness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from tokenizers import Tokenizer

from routing.selection.lexical import Floats

FOLDER = Path(__file__).parent / "encoder"
FEW = 32


class Encoder(Protocol):
    """Anything that makes vectors; `name` says which, so that stored vectors of another are not mixed with its."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """One row of length 1 for each text, all zero for a text without a known word. May block."""


class StaticEncoder:
    """A vector for each token, and their mean for a text: sentence-transformers' StaticEmbedding, read with numpy. A
    text takes 0.05 ms."""

    def __init__(self, tokenizer: Tokenizer, rows: NDArray[np.int8], scales: Floats, name: str) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._rows = rows
        self._scales = scales

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Self:
        """Read `tokenizer.json` and `model.safetensors`."""
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        with safe_open(str(folder / "model.safetensors"), "numpy") as stored:
            return cls(tokenizer, stored.get_tensor("embeddings"), stored.get_tensor("weights"), "static")

    def encode(self, texts: Sequence[str]) -> Floats:
        found = np.zeros((len(texts), self._rows.shape[1]), np.float32)
        for row, tokens in enumerate(self._tokens(texts)):
            if tokens:
                ids = np.array(tokens)
                vector = self._scales[ids] @ self._rows[ids]
                found[row] = vector / (np.linalg.norm(vector) + 1e-12)
        return found

    def _tokens(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Few texts one by one: to share them among threads takes longer than to read them."""
        if len(texts) < FEW:
            return (self._tokenizer.encode(text, add_special_tokens=False).ids for text in texts)
        return (each.ids for each in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False))
