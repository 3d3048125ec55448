"""What of all that may fit is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from routing.types.vectors import Floats


@dataclass(frozen=True, slots=True)
class Policy:
    """Odds are natural logarithms of how much likelier something is than none.

    A part of a message (the whole of it, or one of its clauses) speaks for any tool at all with the odds of all
    together, less `talk` times the odds that it is small talk. These must reach `gate`; a clause of a message that as a
    whole does not must reach `alone` more. Then all are shown that have the share `exp(least) / count ** falling` of
    the likelihood of all, at most `most * count ** growing` for the whole, and a part of that for a clause. Of a very
    large catalogue the likeliest `wide * count ** 2` are shown whatever their share: among thousands of neighbours the
    likelihood is too sure of one. A count above `largest`, on which that was set, is taken for it. A clause whose words
    alone give the odds `certain` is not embedded.
    """

    gate: float
    least: float
    falling: float
    most: float
    growing: float
    certain: float
    talk: float = 0.0
    alone: float = 0.0
    wide: float = 0.0
    largest: int = 4_076

    def open(self, odds: Sequence[Floats], chatter: Sequence[float]) -> list[bool]:
        """For each part, the whole first, whether anything is shown for it."""
        standing = [together(each) - self.talk * talk for each, talk in zip(odds, chatter, strict=True)]
        if not standing or standing[0] >= self.gate or max(standing) >= self.gate + self.alone:
            return [each >= self.gate for each in standing]
        return [False] * len(standing)

    def shown(self, odds: Floats, part: float = 1.0) -> Iterator[int]:
        """The places of what is shown, the likeliest first; `part` of the most that may be."""
        count = len(odds)
        if not count:
            return
        anyway = int(part * self.wide * min(count, self.largest) ** 2)
        most = max(2, anyway, round(part * self.most * count**self.growing))
        least = together(odds) + self.least - self.falling * float(np.log(count))
        enough = np.flatnonzero(odds >= min(least, _highest(odds, anyway)))
        if len(enough) > most:
            enough = enough[odds[enough] >= _highest(odds[enough], most)]
        yield from enough[np.argsort(-odds[enough], kind="stable")[:most]].tolist()


def _highest(odds: Floats, number: int) -> float:
    """The odds of the likeliest, the second, …; infinite for none."""
    return float(np.partition(odds, -number)[-number]) if number else np.inf


def together(odds: Floats) -> float:
    """The odds that any of them is meant."""
    highest = float(odds.max(initial=-np.inf))
    return highest + float(np.log(np.exp(odds - highest).sum())) if np.isfinite(highest) else highest


POLICY = Policy(
    gate=0.0, least=-1.77, falling=0.7, most=0.72, growing=0.54, certain=14.0, talk=0.65, alone=3.0, wide=1e-5
)
"""Set on the development sets, each half judged by weights learned on the other."""
