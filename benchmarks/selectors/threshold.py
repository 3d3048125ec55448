"""Scores made comparable: the threshold at which a selector shows as much as another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
NOTHING_LEFT_OUT = float("-inf")


def threshold(scores: Floats, share: float) -> float:
    """What scores higher is shown: of all scores (a row for each query) no more than `share`, and as many as equal
    scores allow."""
    most = int(scores.size * share + 1e-9)
    if most >= scores.size:
        return NOTHING_LEFT_OUT
    return float(np.partition(scores, scores.size - 1 - most, axis=None)[scores.size - 1 - most])
