"""parse_mode=HTML turned into text and entities, as the server does it."""

from collections.abc import Sequence
from html.parser import HTMLParser

from tests.servers.telegram.entities import utf16_length
from tests.servers.telegram.errors import Breach
from tests.servers.telegram.values import Json

_TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "code": "code",
    "pre": "pre",
    "a": "text_link",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}
Attributes = Sequence[tuple[str, str | None]]


def parse(text: str, mode: str) -> tuple[str, list[Json]]:
    """Text and entities; raises Breach for markup that the mode does not allow. Only HTML is served here."""
    if mode.lower() != "html":
        raise Breach(f"unsupported parse_mode {mode!r}: this server reads entities and HTML")
    reader = _Html()
    reader.feed(text)
    reader.close()
    if reader.open:
        raise Breach(f"can't parse entities: can't find end tag corresponding to start tag {reader.open[-1][0]!r}")
    return reader.text, sorted(reader.entities, key=lambda entity: (entity["offset"], -entity["length"]))


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.entities: list[Json] = []
        self.open: list[tuple[str, int, Json]] = []

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        given = dict(attrs)
        if tag == "span" and given.get("class") == "tg-spoiler":
            entity: Json = {"type": "spoiler"}
        elif tag in _TAGS:
            entity = {"type": _TAGS[tag]}
        else:
            raise Breach(f"can't parse entities: unsupported start tag {tag!r}")
        if tag == "a":
            entity["url"] = given.get("href") or ""
        if tag == "tg-emoji":
            entity["custom_emoji_id"] = given.get("emoji-id") or ""
        if tag == "blockquote" and "expandable" in given:
            entity["type"] = "expandable_blockquote"
        if tag == "code" and (language := (given.get("class") or "").removeprefix("language-")):
            entity["language"] = language
        self.open.append((tag, utf16_length(self.text), entity))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1][0] != tag:
            raise Breach(f"can't parse entities: unexpected end tag {tag!r}")
        _, start, entity = self.open.pop()
        length = utf16_length(self.text) - start
        language = entity.pop("language", None) if entity["type"] == "code" else None
        if tag == "code" and self.open and self.open[-1][0] == "pre":
            if language:
                self.open[-1][2]["language"] = language
            return
        if length:
            self.entities.append(entity | {"offset": start, "length": length})
