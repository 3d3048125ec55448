"""What an entry of `mcp.json` may say, so that a fault in it is a sentence here and no riddle when it is connected."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A header's name (RFC 9110)."""


def unsayable(value: object) -> str:
    """Why a value can't be passed on to anybody; empty if it can."""
    texts = list(_texts(value))
    if any("\0" in text for text in texts):
        return "has a NUL character in it, which no program takes"
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return "has half a character (a lone surrogate) in it"
    return ""


def url_fault(url: str) -> str:
    """Why nobody can be reached there; empty if somebody could. The address itself may be a secret."""
    if not re.match(r"https?://[^/\s]", url):
        return "must begin with http:// or https://"
    if not url.isprintable() or " " in url:
        return "contains a blank or a character that no address may contain"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is no address ({error})"
    return "" if host else "names no host"


def header_fault(headers: Mapping[str, str]) -> str:
    """Which of the headers can't be sent, and why; empty if all can."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            return f"has a name that no header has: {name[:40]!r}"
        if not value.isascii() or not value.isprintable():
            return f"has a value for {name} with characters that no header may contain: was it pasted wrongly?"
    return ""


def variable_fault(variables: Mapping[str, str]) -> str:
    """Which of a child's variables can't be set; empty if all can."""
    wrong = next((name for name in variables if not name or "=" in name), None)
    return "" if wrong is None else f"has a name that no variable has: {wrong[:40]!r}"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from (key, *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
