"""Processing of typed text: clients split long texts, and the server finds the entities."""

import re
from collections.abc import Iterator

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


def utf16_pieces(text: str, limit: int) -> Iterator[str]:
    """The text cut as a client cuts a long paste: at a line or word end where one is near, else at `limit` units."""
    while text:
        cut, units = 0, 0
        for character in text:
            units += 2 if ord(character) > 0xFFFF else 1
            if units > limit:
                break
            cut += 1
        if cut < len(text):
            cut = max(text.rfind("\n", cut // 2, cut), text.rfind(" ", cut // 2, cut)) + 1 or cut
        yield text[:cut]
        text = text[cut:]
