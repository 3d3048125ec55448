"""Why only the words of a message are compared, where no encoder gives the reason itself."""

from __future__ import annotations

PATIENCE_SECONDS = 0.05
"""How long a message waits for the index, and for the vectors of the shipped encoder."""
LOADING = "the tool index is still being built"
UNMADE = "the tool index could not be built"
EMBEDDING = "the tool embeddings are still being computed"
OFF = "EMBEDDINGS=off"
SLOW = "the embeddings took too long"
BUSY = "this machine was too busy for more than keywords"
OTHERS = "the embedding model changed and the tools are being embedded again"
FAILED = "the selection failed, see the log"
