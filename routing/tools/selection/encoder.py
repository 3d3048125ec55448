"""Texts as vectors of length 1, whose products are their likeness."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from tokenizers import Tokenizer

from routing.tools.selection.weights import Weights
from routing.types.vectors import Floats

FOLDER = Path(__file__).parent / "encoder"
FEW, TOGETHER = 32, 512
"""Fewer texts are read one by one: to share them among threads takes longer. More are read in parts: what the tokenizer
tells of 8,000 texts takes 10 MB."""
REMEMBERED = 2_048
"""Words whose tokens are kept."""
_SPLITTING = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})


class StaticEncoder:
    """A vector for each token, and their mean for a text: sentence-transformers' StaticEmbedding, read with numpy. A
    text takes 0.04 ms. The vectors stay in their file, of which only what is looked at comes into memory."""

    def __init__(self, tokenizer: Tokenizer, weights: Weights, name: str) -> None:
        self.name = name
        self._tokenizer = tokenizer
        self._weights = weights
        self._by_word = _splits_at_blanks(tokenizer)
        self._of = lru_cache(REMEMBERED)(self._read)

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Self:
        """Read `tokenizer.json` and `model.safetensors`."""
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, Weights.load(folder / "model.safetensors"), "static")

    def encode(self, texts: Sequence[str]) -> Floats:
        rows, scales = self._weights.rows, self._weights.scales
        found = np.zeros((len(texts), rows.shape[1]), np.float32)
        for row, tokens in enumerate(self._tokens(texts)):
            if tokens:
                ids = np.array(tokens)
                vector = scales[ids] @ rows[ids]
                found[row] = vector / (np.linalg.norm(vector) + 1e-12)
        return found

    def rest(self) -> None:
        """Give back the memory that many texts took."""
        self._weights.leave()

    def _tokens(self, texts: Sequence[str]) -> Iterator[Sequence[int]]:
        if len(texts) < FEW:
            for text in texts:
                # The words of a message come again in its clauses.
                yield (
                    [token for word in text.split(" ") for token in self._of(word)]
                    if self._by_word
                    else self._read(text)
                )
            return
        for start in range(0, len(texts), TOGETHER):
            some = list(texts[start : start + TOGETHER])
            yield from (each.ids for each in self._tokenizer.encode_batch_fast(some, add_special_tokens=False))

    def _read(self, text: str) -> list[int]:
        found: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return found


def _splits_at_blanks(tokenizer: Tokenizer) -> bool:
    """Whether a text's tokens are those of its words, one word after the other."""
    if tokenizer.pre_tokenizer is None:
        return False
    told = json.loads(tokenizer.pre_tokenizer.__getstate__())
    return any(each["type"] in _SPLITTING for each in (told, *told.get("pretokenizers", ())))
