"""Parses a critic's verdict and makes its words safe to show."""

from __future__ import annotations

import json
import re

from routing.text import storable

MAX_WORDS = 20
LONG_WORD = 15
"""Maximum characters per word; longer ones are cut."""
_LINK = re.compile(r"://|www\.|@", re.IGNORECASE)
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def parse_verdict(text: str) -> str | None:
    """The objection, safe for a code span; empty if there is none; None if the text is not a verdict."""
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```"):
        bare = bare.removeprefix("```").removeprefix("json").removesuffix("```")
    try:
        parsed = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("doubt"), bool) or parsed.keys() - {"doubt", "why"}:
        return None
    if not parsed["doubt"]:
        return ""
    why = parsed.get("why")
    return (plain(why) or None) if isinstance(why, str) else None


def plain(why: str) -> str:
    """Make foreign text safe for a code span, in which no platform links words such as `Node.js`: at most MAX_WORDS
    words, without links and invisible characters."""
    seen = _UNSEEN.sub("", storable(why)).replace("`", "'").split()
    words = ["…" if _LINK.search(word) else word for word in seen]
    cut = " ".join(words[:MAX_WORDS])[: MAX_WORDS * LONG_WORD].rstrip()
    return f"{cut} …" if len(words) > MAX_WORDS else cut
