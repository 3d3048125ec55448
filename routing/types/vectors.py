"""Embedding vectors. Imports numpy for type checkers only: it is slow to load, and many processes don't need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors = tuple[tuple[float, ...], ...]
"""As returned by a provider."""
Floats: TypeAlias = "NDArray[np.float32]"
"""One row per text."""
