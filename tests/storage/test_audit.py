"""Audit details as they are stored, and as an earlier version stored them."""

from __future__ import annotations

import pytest

from storage.audit import audit_detail, read_audit_detail


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
