"""Loads a sentence-transformers model in the worker process. The only importer of sentence_transformers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from routing.types.vectors import Floats

NOT_INSTALLED = "sentence-transformers is not installed: run `make sentence-transformers`"
_UNREACHED = "couldn't connect to"
"""Part of the error of transformers if a model is not cached and the Hub does not answer or is disabled."""


def load(model: str) -> Callable[[Sequence[str]], Floats]:
    """The encoding function of a model: a folder, or a name that is loaded from the Hub's cache or, unless
    HF_HUB_OFFLINE is set, from the Hub. Runs no code of the model's repository. Raises RuntimeError with a clause for
    people."""
    if _is_path(model) and not Path(model).is_dir():
        raise RuntimeError("there is no such folder")
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        raise RuntimeError(NOT_INSTALLED if error.name in ("torch", "sentence_transformers") else str(error)) from error
    torch.set_num_threads(1)
    try:
        encoder: Any = SentenceTransformer(model, device="cpu")
    except OSError as error:
        if _UNREACHED in str(error):
            raise RuntimeError("it is not on this machine, and the Hub can't be reached") from error
        raise

    def encode(texts: Sequence[str]) -> Floats:
        rows: Floats = encoder.encode(
            list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return rows

    return encode


def _is_path(model: str) -> bool:
    return model.startswith((".", "~", os.sep)) or Path(model).is_absolute()
