"""Makes scores comparable: the threshold at which a selector shows a given share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
NOTHING_LEFT_OUT = float("-inf")


def threshold(scores: Floats, share: float) -> float:
    """The lowest threshold above which at most `share` of all scores lie (one row per query); fewer if scores are
    equal."""
    most = int(scores.size * share + 1e-9)
    if most >= scores.size:
        return NOTHING_LEFT_OUT
    return float(np.partition(scores, scores.size - 1 - most, axis=None)[scores.size - 1 - most])
