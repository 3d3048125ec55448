"""The vectors of texts, kept so that a start need not make them again. Implemented in `storage`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol


class VectorStore(Protocol):
    """Vectors by the encoder that made them and the hash of their text: rows of little-endian float32, as bytes.

    What is given out is what was kept, byte for byte; whoever asks checks the length, for a row of another length is no
    vector of theirs. All methods raise StorageFault: the vectors are then made anew, and nothing else is lost.
    """

    async def get(self, encoder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Those that are kept, by hash; the others are not in it."""

    async def put(self, encoder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep them all, or none when it fails; the newest of a hash counts."""

    async def keep(self, encoder: str, hashes: Collection[str]) -> int:
        """Forget what other encoders made, and texts that are not among these; how many. In small steps: when it fails
        half-way, the next call goes on."""
