"""Texts in the database that an earlier version wrote."""

from __future__ import annotations

import json

import pytest

from storage.audit import audit_detail, read_audit_detail
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


@pytest.mark.parametrize(
    ("action", "detail", "read"),
    [
        ("admit", audit_detail("telegram:7", "guest"), ("telegram:7", "guest")),
        ("admit", "telegram:7 as guest", ("telegram:7", "guest")),
        ("link", "discord:2 with person 1, was person 3", ("discord:2", "person 1, was person 3")),
        ("budget", "person 1: $5 a day, $40 a month", ("person 1", "$5 a day, $40 a month")),
        ("forget", "telegram:7 discord:2", ("telegram:7 discord:2", "")),
        ("wrong owner code", audit_detail('["Ann"]'), ('["Ann"]', "")),
        ("wrong owner code", '["Ann"]', ('["Ann"]', "")),
    ],
)
def test_audit_details_are_read_as_subject_and_change(action: str, detail: str, read: tuple[str, str]) -> None:
    assert read_audit_detail(action, detail) == read
