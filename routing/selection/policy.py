"""What of all that may fit is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from routing.selection.lexical import Floats


@dataclass(frozen=True, slots=True)
class Policy:
    """Odds are natural logarithms of how much likelier something is than none. The likeliest must have the odds
    `gate`; then all are shown that have the share `exp(least) / count ** falling` of all likelihood, at most `most *
    count ** growing` for the message as a whole, and a part of that for one of its clauses. A clause whose words
    alone give the odds `certain` is not embedded."""

    gate: float
    least: float
    falling: float
    most: float
    growing: float
    certain: float

    def shown(self, odds: Floats, part: float = 1.0) -> Iterator[int]:
        """The places of what is shown, the likeliest first; `part` of the most that may be."""
        count = len(odds)
        if not count:
            return
        order = np.argsort(-odds, kind="stable")[: max(2, round(part * self.most * count**self.growing))]
        if odds[order[0]] < self.gate:
            return
        whole = float(np.logaddexp(0.0, np.logaddexp.reduce(odds)))
        least = whole + self.least - self.falling * float(np.log(count))
        yield from (int(at) for at in order if odds[at] >= least)


POLICY = Policy(gate=-1.8, least=1.0, falling=1.8, most=0.145, growing=0.75, certain=9.0)
"""Set on the development sets."""
