"""Keywords of toolkits in what somebody says, without any index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from routing.types.toolkits import Toolkit

LONGEST = 6
"""Words of a keyword that is heard."""
MOST_CHARACTERS = 4_000
"""Of a message; what is wanted stands before."""
_WORDS = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0eff]")


def heard(toolkits: Sequence[Toolkit], message: str) -> Iterator[Toolkit]:
    """Toolkits one of whose keywords is said as whole words, or anywhere where a script has no spaces."""
    folded = message[:MOST_CHARACTERS].casefold()
    said = _WORDS.findall(folded)
    spoken = {" ".join(said[at : at + size]) for size in range(1, LONGEST + 1) for at in range(len(said))}
    unspaced = _UNSPACED.search(folded) is not None
    for toolkit in toolkits:
        words, signs = _forms(toolkit.keywords)
        if not words.isdisjoint(spoken) or (unspaced and any(each in folded for each in signs)):
            yield toolkit


@lru_cache(maxsize=1_000)
def _forms(keywords: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Those of words, a space between them, and those of a script without spaces. A keyword takes 3 µs."""
    folded = [each.casefold() for each in keywords]
    words = frozenset(" ".join(_WORDS.findall(each)) for each in folded if not _UNSPACED.search(each))
    return words - {""}, tuple(each for each in folded if _UNSPACED.search(each))
