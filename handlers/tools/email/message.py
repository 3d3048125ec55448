"""The parts of a mail: headers, the structure that an IMAP server tells, and readable text.

What a mail says is not trusted: every loop over it is linear, and every text is cut."""

from __future__ import annotations

import binascii
import itertools
import quopri
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.header import decode_header
from email.parser import BytesHeaderParser
from email.policy import compat32
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote_to_bytes

MAX_HEADER_BYTES = 20_000
MAX_VALUE_CHARACTERS = 1_000
MAX_PARTS = 100
MAX_DEPTH = 20
_BLOCKS = frozenset(
    (
        *("address", "article", "blockquote", "br", "div", "dl", "dt", "dd", "footer", "h1", "h2", "h3", "h4", "h5"),
        *("h6", "header", "hr", "li", "ol", "p", "pre", "section", "table", "tr", "ul"),
    )
)
_BASE64 = f"{string.ascii_letters}{string.digits}+/=".encode()
_NOT_BASE64 = bytes(set(range(256)) - set(_BASE64))
_HIDDEN = frozenset(("head", "script", "style", "template", "title", "noscript"))


@dataclass(frozen=True, slots=True)
class Header:
    """The decoded headers of a mail; `date` is as the sender wrote it, in ISO form if it is readable."""

    sender: str
    to: str
    cc: str
    reply_to: str
    subject: str
    date: str
    message_id: str
    references: str

    @classmethod
    def of(cls, raw: bytes) -> Header:
        found = BytesHeaderParser(policy=compat32).parsebytes(raw[:MAX_HEADER_BYTES])

        def value(name: str) -> str:
            return decoded_words(str(found.get(name, "")))

        return cls(
            value("From"),
            value("To"),
            value("Cc"),
            value("Reply-To"),
            value("Subject") or "(no subject)",
            _date(value("Date")),
            _identifiers(value("Message-ID")),
            _identifiers(value("References")),
        )


def decoded_words(raw: str) -> str:
    """A header on one line, with its encoded words decoded (RFC 2047)."""
    raw = " ".join(raw[: 2 * MAX_VALUE_CHARACTERS].split())
    try:
        pieces = decode_header(raw)
    except (ValueError, binascii.Error):  # HeaderParseError is a ValueError
        pieces = [(raw, None)]
    text = "".join(
        piece if isinstance(piece, str) else decoded_text(piece, charset or "utf-8") for piece, charset in pieces
    )
    return " ".join(one_line(text).split())[:MAX_VALUE_CHARACTERS]


def one_line(text: str) -> str:
    """Without control characters, and without those that change the direction of writing."""
    return "".join(
        sign if sign.isprintable() and not "\u202a" <= sign <= "\u202e" and not "\u2066" <= sign <= "\u2069" else " "
        for sign in text
    )


def _date(text: str) -> str:
    try:
        return f"{parsedate_to_datetime(text[:60]):%Y-%m-%d %H:%M %z}".strip()
    except (ValueError, TypeError, IndexError, OverflowError):
        return text[:60]


def _identifiers(text: str) -> str:
    return " ".join(re.findall(r"<[^<>\s]{1,250}>", text)[-10:])


def decoded_text(data: bytes, charset: str) -> str:
    try:
        return data.decode(charset, "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a mail. `number` is its IMAP section; `size` is in bytes, as it is sent. `choice` is the section of the
    multipart/alternative that it is in; empty: none."""

    number: str
    kind: str
    subtype: str
    name: str
    encoding: str
    charset: str
    size: int
    attached: bool
    choice: str = ""

    @property
    def is_text(self) -> bool:
        return self.kind == "text" and self.subtype in ("plain", "html")

    def decoded(self, data: bytes) -> bytes:
        """The content without its transfer encoding. Ignores characters that are not base64, and ends before a line
        of words, such as a footer that a mailing list appends."""
        if self.encoding == "quoted-printable":
            return quopri.decodestring(data)
        if self.encoding != "base64":
            return data
        first, *more = data.splitlines() or [b""]
        encoded = (first, *itertools.takewhile(_is_base64 if self.is_text else _is_no_separator, more))
        plain = b"".join(encoded).translate(None, _NOT_BASE64).partition(b"=")[0]
        if len(plain) % 4 == 1:  # six bits are no byte
            plain = plain[:-1]
        return binascii.a2b_base64(plain + b"=" * (-len(plain) % 4))

    def readable(self, data: bytes) -> str:
        """The text of a text part."""
        text = decoded_text(self.decoded(data), self.charset or "utf-8")
        return from_html(text) if self.subtype == "html" else "\n".join(map(str.rstrip, text.splitlines()))


def parts_of_message(structure: Any) -> tuple[list[Part], int]:
    """The parts of a BODYSTRUCTURE, in order, at most MAX_PARTS, and how many more there are."""
    leaves = list(_leaves(structure, "", "", 0))
    shown = enumerate(leaves[:MAX_PARTS], 1)
    parts = [replace(_part(number, body, at), choice=choice) for at, (number, choice, body) in shown]
    return parts, len(leaves) - len(parts)


def _is_no_separator(line: bytes) -> bool:
    text = line.strip(b"> \t")
    return not text or text.strip(b"_-*~#") != b""


def _is_base64(line: bytes) -> bool:
    """Whether a line continues base64: it may be quoted, or broken by spaces between groups of four, but it is no
    separator and no words."""
    *groups, last = line.strip(b"> \t").split() or [b""]
    words = groups and (last.translate(None, _BASE64) or any(len(each) % 4 for each in groups))
    return not words and _is_no_separator(line)


def _leaves(body: Any, number: str, choice: str, depth: int) -> Iterator[tuple[str, str, Any]]:
    if not isinstance(body, tuple) or not body:
        return
    if isinstance(body[0], list) and depth <= MAX_DEPTH:
        if not choice and _word(body, 1) == "alternative":
            choice = number or "0"
        for at, part in enumerate(body[0], 1):
            yield from _leaves(part, f"{number}.{at}" if number else str(at), choice, depth + 1)
    else:
        yield number or "1", choice, body


def _part(number: str, body: Any, at: int) -> Part:
    kind, subtype, encoding = (_word(body, index) for index in (0, 1, 5))
    parameters = _pairs(body[2]) if len(body) > 2 else {}
    disposition, more = "", dict[str, str]()
    for field in body[7:]:
        if isinstance(field, tuple) and field and field[0] in (b"attachment", b"inline", b"ATTACHMENT", b"INLINE"):
            disposition = field[0].decode().lower()
            more = _pairs(field[1]) if len(field) > 1 else {}
            break
    name = _name(more, "filename") or _name(parameters, "name")
    size = body[6] if len(body) > 6 and isinstance(body[6], int) else 0
    attached = (
        disposition == "attachment"
        or (bool(name) and disposition != "inline")
        or (kind, subtype)
        == (
            "message",
            "rfc822",
        )
    )
    ending = {"message/rfc822": ".eml", "text/calendar": ".ics"}.get(f"{kind}/{subtype}", "")
    shown = name or f"attachment-{at}{ending}"
    return Part(number, kind, subtype, shown, encoding, parameters.get("charset", ""), size, attached)


def _word(body: Any, index: int) -> str:
    found = body[index] if len(body) > index else b""
    return found.decode("ascii", "replace").lower()[:100] if isinstance(found, bytes) else ""


def _pairs(given: Any) -> dict[str, str]:
    if not isinstance(given, tuple):
        return {}
    texts = [each.decode("utf-8", "replace") if isinstance(each, bytes) else "" for each in given[:40]]
    return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=False)}


def _name(parameters: dict[str, str], key: str) -> str:
    """A file name, also in the form of RFC 2231 in up to ten pieces."""
    pieces = [parameters.get(f"{key}*{at}*", parameters.get(f"{key}*{at}", "")) for at in range(10)]
    extended = parameters.get(f"{key}*") or ("".join(pieces) if any(pieces) else "")
    if extended.count("'") >= 2:
        charset, _, value = extended.split("'", 2)
        return one_line(decoded_text(unquote_to_bytes(value[:MAX_VALUE_CHARACTERS]), charset or "utf-8"))
    return extended or decoded_words(parameters.get(key, ""))


def from_html(text: str) -> str:
    """Readable text of an HTML mail: a line for each block, and the address after each link."""
    from lxml import etree, html  # imported when first used

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=False)
    try:
        root = html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, ValueError):
        return ""
    pieces: list[str] = []
    hidden = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag
        if not isinstance(tag, str):
            continue
        if event == "start":
            hidden += tag in _HIDDEN
            pieces += ["\n"] if tag in _BLOCKS else []
            pieces += [element.text.replace("\n", " ")] if element.text and not hidden else []
        else:
            hidden -= tag in _HIDDEN
            link = element.get("href", "") if tag == "a" else ""
            if link.startswith(("http://", "https://", "mailto:")) and not hidden:
                pieces.append(f" <{link[:500]}>")
            pieces += ["\n"] if tag in _BLOCKS and tag != "br" else []
            pieces += [element.tail.replace("\n", " ")] if element.tail and not hidden else []
    lines = (" ".join(line.split()) for line in "".join(pieces).splitlines())
    return "\n".join(line for line in lines if line)
