"""Builds the context of a command for tests."""

from __future__ import annotations

from handlers.context import CommandContext
from handlers.languages import Say
from handlers.parsing import parse_command
from routing.types.messages import ChatKey, InboundMessage, UserKey
from routing.types.people import Person, Role
from routing.types.stop import Stop
from tests.fakes import Seen


def asked(text: str = "/tools", role: Role = "owner", language: str = "en", private: bool = True) -> CommandContext:
    """A typed command."""
    message = InboundMessage(
        UserKey("console", "1"), ChatKey("console", "1", ""), "bot", "1", text, 0.0, private=private
    )
    typed = parse_command(text, "tierbot")
    assert typed is not None
    person, say = Person(1, role, "Ann"), Say(language)
    return CommandContext("t", message, person, say, Seen(), Stop(), typed.arguments, typed.rest)
