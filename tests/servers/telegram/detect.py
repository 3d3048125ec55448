"""The entities that the server finds by itself in what a person types."""

import re

from tests.servers.telegram.entities import utf16_length
from tests.servers.telegram.values import Json

_FOUND = (
    ("bot_command", re.compile(r"(?<![\w/@<])/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?(?![\w/])")),
    ("url", re.compile(r"(?<!\w)https?://[^\s<>]*[^\s<>.,;:!?)\]]")),
    ("email", re.compile(r"(?<![\w.])[\w.+-]+@[\w-]+\.[\w.-]*\w")),
    ("mention", re.compile(r"(?<![\w@/.])@\w{3,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<!\w)#\w*[^\W\d]\w*")),
)


def detect_entities(text: str) -> list[Json]:
    """Commands, links, addresses, mentions and hashtags, in order and without overlaps."""
    found: list[tuple[int, int, str]] = []
    for kind, pattern in _FOUND:
        for match in pattern.finditer(text):
            if all(match.end() <= start or match.start() >= stop for start, stop, _ in found):
                found.append((match.start(), match.end(), kind))
    return [
        {"type": kind, "offset": utf16_length(text[:start]), "length": utf16_length(text[start:stop])}
        for start, stop, kind in sorted(found)
    ]
