"""Entries of the audit log."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlalchemy import Connection, insert

from storage.codec import NAMES
from storage.schema import audit

_BEFORE_CHANGE = {"admit": " as ", "link": " with ", "budget": ": "}
"""The separator that earlier versions wrote between subject and change, by action."""


def write_audit(connection: Connection, at: float, actor: str, action: str, subject: str, change: str = "") -> None:
    """Add an entry, `at` in Unix seconds."""
    row = {"at": at, "actor": actor, "action": action, "detail": audit_detail(subject, change)}
    connection.execute(insert(audit), row)


def audit_detail(subject: str, change: str = "") -> str:
    """The stored form of a subject and a change."""
    return NAMES.dump((subject, change))


def read_audit_detail(action: str, detail: str) -> tuple[str, str]:
    """The subject and the change of an entry, including those that earlier versions wrote as plain text."""
    try:
        subject, change = NAMES.load(detail)
    except ValueError:
        subject, _, change = detail.partition(_BEFORE_CHANGE[action]) if action in _BEFORE_CHANGE else (detail, "", "")
    return subject, change


def replace_accounts(action: str, detail: str, accounts: Mapping[str, str]) -> str:
    """The stored form of an entry's detail, with accounts replaced by other texts."""
    subject, change = read_audit_detail(action, detail)
    return audit_detail(_replaced(subject, accounts), _replaced(change, accounts))


def _replaced(text: str, accounts: Mapping[str, str]) -> str:
    return re.sub(r"[^\s,]+", lambda word: accounts.get(word[0], word[0]), text)
