"""The encoder on disk, in the format of sentence-transformers and model2vec, with one byte per number.

`embeddings` holds int8 numbers, `weights` one float32 factor per token. sentence-transformers (6.2) multiplies them
when it loads, model2vec (0.10) when it reads a row: both get the same float32 rows. float16 rows are not an option:
torch averages them in float16, with an error of 5e-4 against other readers. [PAD] and [UNK] are zero, so readers that
skip unknown words and readers that average them agree after normalisation.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save
from tokenizers import Tokenizer

MODULES = [
    {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"},
    {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def quantised(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Whole numbers from -127 to 127, and the factor that restores each row to within 1/254 of its largest number."""
    weights = np.abs(rows).max(axis=1) / 127
    weights[weights == 0] = 1
    return np.rint(rows / weights[:, None]).astype(np.int8), weights.astype(np.float32)


def write(folder: Path, tokenizer: Tokenizer, rows: NDArray[np.float32]) -> None:
    """Write all files of the model except its README. The weights are replaced atomically, because a running bot has
    mapped the old file into memory."""
    embeddings, weights = quantised(rows)
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "model.safetensors.new"
    written.write_bytes(save({"embeddings": embeddings, "weights": weights}))
    written.replace(folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    config = {"model_type": "model2vec", "normalize": True, "hidden_dim": rows.shape[1], "embedding_dtype": "int8"}
    put(folder / "config.json", config)
    put(folder / "modules.json", MODULES)
    put(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    (folder / "1_Normalize").mkdir(exist_ok=True)
    put(folder / "1_Normalize" / "config.json", {})


def put(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", "utf-8")
