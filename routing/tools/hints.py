"""What the system message says of tools that are not shown: the names of some, the kinds of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from routing.tools.candidates import DISCOVERY
from routing.types.toolkits import QUARTERS, text_weight

MOST_KINDS = 24
SEARCH = f" {DISCOVERY} finds those that you do not see."
_KINDS = "Kinds of tools here: {}."


def names_line(names: Iterable[str], more: int, plain: str, found: bool) -> str:
    """The names of tools and how many `more` there are, then a `plain` word. They are `found` with discovery, or called
    by these names."""
    head = f"More tools, to be found with {DISCOVERY}" if found else "More tools, to be called by name"
    told = ", ".join([*names, f"… and {more} more"] if more else names)
    return f"{head}: {told}. {plain}".strip()


def kinds_line(categories: Iterable[str], most_tokens: int) -> str:
    """The kinds of most tools, in the order in which they come first; nothing where there is no room for one and the
    SEARCH for more. It is the same for the same tools, whatever a message is about, for providers' prompt caches."""
    counted = Counter(categories)
    counted.pop("", None)
    likely = (kind for kind, _ in counted.most_common(MOST_KINDS))
    told = that_fit(likely, QUARTERS * most_tokens - text_weight(_KINDS.format("") + SEARCH))
    return _KINDS.format(", ".join(kind for kind in counted if kind in told)) if told else ""


def that_fit(names: Iterable[str], room: int) -> Mapping[str, None]:
    """The first names of a line, in their order, as long as there is room for them, in quarters of a token."""
    told: dict[str, None] = {}
    for name in names:
        room -= text_weight(f"{name}, ")
        if room < 0:
            break
        told[name] = None
    return told
