"""Vectors from the shipped encoder, in this process: 27 µs a text."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from routing.errors import PROGRAM_ENDING, EmbedderFailed
from routing.text import storable
from routing.tools.embedding.texts import load_rows
from routing.types.vectors import Floats

if TYPE_CHECKING:
    from routing.tools.selection.encoder import StaticEncoder

FOLDER = Path(__file__).resolve().parents[1] / "selection" / "encoder"
_FILES = ("tokenizer.json", "model.safetensors")
_SLICE = 256
"""Texts encoded per thread call: 10 ms, after which a cancelled call stops."""


class StaticEmbedder:
    """Implements `Embedder`. Reads the weights in a thread on first use."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._loading: asyncio.Task[StaticEncoder] | None = None
        self._closed = False

    @cached_property
    def name(self) -> str:
        """Contains a hash of the weights. Blocks for 10 ms the first time."""
        return f"static:{_fingerprint(self._folder)}"

    async def embed(self, texts: Sequence[str]) -> Floats:
        encoder = await self._encoder()
        from routing.tools.embedding.rows import joined

        clean = [storable(text) for text in texts]
        slices = [clean[start : start + _SLICE] for start in range(0, len(clean), _SLICE)]
        try:
            return joined([await asyncio.to_thread(encoder.encode, each) for each in slices])
        finally:
            encoder.rest()

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """See the port. None until the weights are read."""
        loading = self._loading
        if self._closed or loading is None or not loading.done() or loading.cancelled() or loading.exception():
            return None
        return loading.result().encode([storable(text) for text in texts])

    async def close(self) -> None:
        self._closed = True
        if self._loading is not None:
            await asyncio.wait([self._loading])
            self._loading = None

    async def _encoder(self) -> StaticEncoder:
        """Concurrent callers share one load, which continues when a caller is cancelled."""
        if self._closed:
            raise EmbedderFailed(PROGRAM_ENDING)
        loading = self.preload()
        if not loading.done():
            await asyncio.wait([loading])
        return loading.result()

    def preload(self) -> asyncio.Task[StaticEncoder]:
        """Read the weights in the background, for `at_once`."""
        loading = self._loading
        if loading is None or (loading.done() and loading.exception()):
            loading = self._loading = asyncio.create_task(self._load())
            loading.add_done_callback(_retrieve)
        return loading

    async def _load(self) -> StaticEncoder:
        await load_rows()
        try:
            return await asyncio.to_thread(_read, self._folder)
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise EmbedderFailed(
                "the shipped encoder can't be read ({error}); install tierbot again", error=reason
            ) from error


def _retrieve(loading: asyncio.Task[StaticEncoder]) -> None:
    """Mark the exception as retrieved, because all callers may have been cancelled."""
    if not loading.cancelled():
        loading.exception()


def _read(folder: Path) -> StaticEncoder:
    from routing.tools.selection.encoder import StaticEncoder

    return StaticEncoder.load(folder)


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in _FILES:
        try:
            digest.update((folder / name).read_bytes())
        except OSError:
            return "missing"
    return digest.hexdigest()[:12]
