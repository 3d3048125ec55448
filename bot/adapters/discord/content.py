"""What a Discord message carries besides its text: files the bot reads, or the name of something it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bot.kinds import kind_of, unreadable
from routing.types import Attachment

Json = dict[str, Any]
REF = "discord:"


def files(payload: Json) -> tuple[Attachment, ...]:
    """The attachments of a kind that the bot reads, those of a forwarded message among them."""
    found = (_read(whole, one) for whole in wholes(payload) for one in whole.get("attachments") or ())
    return tuple(file for file in found if file is not None)


def unsupported(payload: Json) -> str:
    """A short English noun in the plural for what the bot cannot read; empty when there is nothing."""
    for whole in wholes(payload):
        for one in whole.get("attachments") or ():
            if _read(whole, one) is None:
                return "videos" if _mime(one).startswith("video/") else unreadable(str(one.get("filename") or ""))
    if any(whole.get("poll") for whole in wholes(payload)):
        return "polls"
    return "stickers" if any(whole.get("sticker_items") for whole in wholes(payload)) else ""


def wholes(payload: Json) -> Iterable[Json]:
    """The message, and what it forwards; where the parts lack an id it is that of the message."""
    yield payload
    for snapshot in payload.get("message_snapshots") or ():
        yield {**snapshot["message"], "id": payload["id"], "channel_id": payload["channel_id"]}


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
