"""Reasons why a message is compared by words only, shown in /status and /tools."""

from __future__ import annotations

INDEX_WAIT_SECONDS = 0.05
"""How long a message waits for the index, and for vectors of the shipped encoder."""
LOADING = "the tool index is still being built"
EMBEDDING = "the tool embeddings are still being computed"
OFF = "EMBEDDINGS=off"
SLOW = "the embeddings took too long"
BUSY = "this machine was too busy for more than keywords"
MODEL_CHANGED = "the embedding model changed and the tools are being embedded again"
FAILED = "the selection failed, see the log"
