"""Vectors of texts. Only type checkers import numpy here: it is slow to load, and many processes never need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors = tuple[tuple[float, ...], ...]
"""As a provider sends them."""
Floats: TypeAlias = "NDArray[np.float32]"
"""One row per text."""
