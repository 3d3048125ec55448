"""Why only the words of a message are compared, where no encoder gives the reason itself."""

from __future__ import annotations

PATIENCE_SECONDS = 0.05
"""How long a message waits for the index, and for the vectors of the shipped encoder."""
LOADING = "the index of the tools is still being made"
UNMADE = "the index of the tools could not be made"
EMBEDDING = "the tools are still being embedded"
OFF = "EMBEDDINGS=off"
SLOW = "the embeddings took too long"
BUSY = "this machine was too busy to compare more than keywords"
OTHERS = "the embeddings have another width than those of the tools, which are embedded anew"
FAILED = "the selection failed, see the log"
