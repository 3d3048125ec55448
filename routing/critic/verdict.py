"""What a critic said, and how its words may be shown."""

from __future__ import annotations

import json
import re

from routing.text import storable

MOST_WORDS = 20
LONG_WORD = 15
"""Characters; more than so many a word are cut off."""
_LINK = re.compile(r"://|www\.|@", re.IGNORECASE)
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def verdict(text: str) -> str | None:
    """Why the answer is doubted, as words for a code span; empty where it is not; None for what is no verdict."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```"):
        bare = bare.removeprefix("```").removeprefix("json").removesuffix("```")
    try:
        told = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not isinstance(told.get("doubt"), bool) or told.keys() - {"doubt", "why"}:
        return None
    if not told["doubt"]:
        return ""
    why = told.get("why")
    return (plain(why) or None) if isinstance(why, str) else None


def plain(why: str) -> str:
    """Somebody else's words so that they can be shown in a code span, where no platform makes a link of `Node.js`: at
    most MOST_WORDS of them, without links and what nobody sees."""
    seen = _UNSEEN.sub("", storable(why)).replace("`", "'").split()
    words = ["…" if _LINK.search(word) else word for word in seen]
    cut = " ".join(words[:MOST_WORDS])[: MOST_WORDS * LONG_WORD].rstrip()
    return f"{cut} …" if len(words) > MOST_WORDS else cut
