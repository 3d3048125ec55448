"""Payloads of the inbox that an earlier version wrote."""

from __future__ import annotations

import json

import pytest

from storage.codec import INBOUND

STORED = {
    "user": {"platform": "telegram", "user_id": "1001"},
    "chat": {"platform": "telegram", "chat_id": "1001"},
    "bot_id": "7",
    "update_id": "5",
    "sent_at": 0.0,
}


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        ("reaction", "👍", ("👍", False, "")),
        ("reaction", "-👍", ("👍", True, "")),
        ("unsupported", "stickers", ("stickers", False, "")),
        ("unsupported", ".zip", ("", False, ".zip")),
        ("message", "-1", ("-1", False, "")),
        ("message", ".zip", (".zip", False, "")),
    ],
)
def test_markers_in_a_text_become_fields(kind: str, text: str, read: tuple[str, bool, str]) -> None:
    loaded = INBOUND.load(json.dumps(STORED | {"kind": kind, "text": text}))
    assert (loaded.text, loaded.removed, loaded.extension) == read
    assert INBOUND.load(INBOUND.dump(loaded)) == loaded
