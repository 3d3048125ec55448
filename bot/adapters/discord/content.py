"""What a Discord message carries besides its text: files the bot reads, or the name of something it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from routing.types import Attachment, AttachmentKind

Json = dict[str, Any]
REF = "discord:"
_IMAGES = ("image/jpeg", "image/png", "image/webp", "image/gif")  # what vision models take
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


def files(payload: Json) -> tuple[Attachment, ...]:
    """The attachments of a kind that the bot reads, those of a forwarded message among them."""
    found = (_read(whole, one) for whole in wholes(payload) for one in whole.get("attachments") or ())
    return tuple(file for file in found if file is not None)


def unsupported(payload: Json) -> str:
    """A short English noun for what a person sent and the bot cannot read; empty when there is nothing."""
    for whole in wholes(payload):
        for one in whole.get("attachments") or ():
            if _read(whole, one) is None:
                return _noun(_mime(one))
    if any(whole.get("poll") for whole in wholes(payload)):
        return "a poll"
    return "a sticker" if any(whole.get("sticker_items") for whole in wholes(payload)) else ""


def wholes(payload: Json) -> Iterable[Json]:
    """The message, and what it forwards; where the parts lack an id it is that of the message."""
    yield payload
    for snapshot in payload.get("message_snapshots") or ():
        yield {**snapshot["message"], "id": payload["id"], "channel_id": payload["channel_id"]}


def kind_of(name: str, mime: str) -> AttachmentKind | None:
    """What a file is to a model, by its media type and name; None for what no model is given."""
    if mime in _IMAGES:
        return "image"
    if mime.startswith("audio/"):
        return "voice"
    if mime.startswith("text/") or mime in _TEXT_MIMES or mime.endswith(("+json", "+xml")):
        return "text"
    return "text" if f".{name.lower()}".endswith(_TEXT_ENDINGS) else None


def _read(whole: Json, one: Json) -> Attachment | None:
    """Discord's addresses live for a day: the reference says where a new one is to be had."""
    name, mime = str(one.get("filename") or "file"), _mime(one)
    kind = kind_of(name, mime)
    if kind is None:
        return None
    ref = f"{REF}{whole['channel_id']}/{whole['id']}/{one['id']} {one['url']}"
    return Attachment(kind, name, mime if kind != "text" else "text/plain", int(one.get("size") or 0), ref)


def _mime(one: Json) -> str:
    return str(one.get("content_type") or "").partition(";")[0].strip().lower()


def _noun(mime: str) -> str:
    if mime.startswith("video/"):
        return "a video"
    return "a PDF file" if mime == "application/pdf" else "a file"
