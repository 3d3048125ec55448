"""The only importer of sentence_transformers, in the worker process: a model by its name or its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from routing.types.vectors import Floats

NOT_INSTALLED = "sentence-transformers is not installed: run `make embeddings`"
_UNREACHED = "couldn't connect to"
"""What transformers says when a model is not on this machine and the Hub does not answer, or must not be asked."""


def load(model: str) -> Callable[[Sequence[str]], Floats]:
    """What makes rows of texts. A name is looked for in the cache of the Hub, then at the Hub unless HF_HUB_OFFLINE
    forbids it; no code of the model's repository is run. Raises RuntimeError with one clause for a person."""
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
