"""Whose answer it is: in a group, personal answers need not be public."""

from __future__ import annotations

import pytest

from handlers.commands import COMMANDS
from handlers.context import CommandSpec


def test_commands_that_concern_everyone_in_the_chat_reply_to_all() -> None:
    about_the_chat = {"new", "retry", "compact", "council", "skill", "remind"}
    assert {spec.name for spec in COMMANDS if not spec.personal} == about_the_chat
    shared = {spec.name: spec.shared for spec in COMMANDS if spec.shared}
    assert shared == {"history": ("resume",), "schedule": ("add",)}


@pytest.mark.parametrize(
    ("personal", "rest", "alone"),
    [
        (True, "", True),
        (True, "list all", True),
        (True, "open", False),
        (True, "  Open the door", False),
        (True, "the open", True),
        (False, "", False),
        (False, "open", False),
    ],
)
def test_ephemeral_replies(personal: bool, rest: str, alone: bool) -> None:
    spec = CommandSpec("door", "A door", ("/door",), personal=personal, shared=("open",))
    assert spec.for_one(rest) is alone
