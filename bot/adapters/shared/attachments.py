"""Attachments: which can be given to a model, by MIME type and name, and why one can't be downloaded."""

from __future__ import annotations

from typing import NamedTuple

from routing.errors import Refused
from routing.types.messages import AttachmentKind

MAX_MEGABYTES = 20  # the Bot API's limit
MAX_BYTES = MAX_MEGABYTES * 2**20
FILES = "such files"
_MAX_EXTENSION_CHARACTERS = 8  # longer ones are not named in a refusal
_IMAGES = ("image/jpeg", "image/png", "image/webp", "image/gif")  # accepted by vision models
_TEXT_MIMES = frozenset(
    f"application/{name}"
    for name in (
        "json", "ld+json", "x-ndjson", "xml", "csv", "yaml", "x-yaml", "toml", "sql", "javascript", "x-javascript",
        "ecmascript", "typescript", "x-sh", "x-shellscript", "x-python", "x-httpd-php", "x-tex",
    )
)  # fmt: skip
_TEXT_ENDINGS = tuple(
    f".{ending}"
    for line in (
        "txt md rst log csv tsv json jsonl ndjson xml yaml yml toml ini cfg conf env properties html htm css scss svg",
        "py pyi ipynb js mjs cjs jsx ts tsx vue java kt kts scala groovy c h cc cpp cxx hpp hh cs go rs swift m mm rb",
        "php pl pm lua r jl hs ml ex exs erl clj lisp el sh bash zsh fish ps1 bat cmd sql graphql proto tex bib srt",
        "vtt diff patch gradle cmake tf hcl dockerfile makefile gitignore",
    )
    for ending in line.split()
)


def kind_of(name: str, mime: str) -> AttachmentKind | None:
    """How this file is given to a model; None if it can't be. A document is kept, and read if its format is known."""
    if mime in _IMAGES:
        return "image"
    if mime.startswith("audio/"):
        return "voice"
    if mime.startswith("text/") or mime in _TEXT_MIMES or mime.endswith(("+json", "+xml")):
        return "text"
    if f".{name.lower()}".endswith(_TEXT_ENDINGS):
        return "text"
    return None if mime.startswith("video/") else "document"


class Unsupported(NamedTuple):
    """Content that the bot can't read: an English plural noun, and the extension (`.zip`) of a file that has one."""

    noun: str
    extension: str = ""


def unreadable(name: str) -> Unsupported:
    """A file that no model can read."""
    _, dot, ending = name.rpartition(".")
    known = dot and ending.isalnum() and len(ending) <= _MAX_EXTENSION_CHARACTERS
    return Unsupported(FILES, f".{ending.lower()}" if known else "")


def too_large() -> Refused:
    return Refused("That file is too large; I accept up to {limit} MB. Send a smaller one.", limit=MAX_MEGABYTES)


def gone(platform: str) -> Refused:
    return Refused("{platform} no longer has that file. Send it again.", platform=platform)


def unreachable(platform: str) -> Refused:
    return Refused("I couldn't get the file from {platform}. Send it again in a minute.", platform=platform)
