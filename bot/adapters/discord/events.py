"""What the gateway brings, and who is told of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from bot.adapters.discord.content import Json

log = logging.getLogger(__name__)


class Listener(Protocol):
    """Who is told what the gateway brings; nothing here may wait."""

    def began(self, payload: Json) -> None:
        """READY, a new session: events before it may be missing."""

    def resumed(self, payload: Json) -> None:
        """RESUMED: the session goes on; nothing is missing."""

    def lost(self, shard: int) -> None:
        """This connection ended, or could not be made again."""

    def arrived(self, payload: Json) -> None:
        """GUILD_CREATE, with what was said last in each of its channels."""

    def message(self, payload: Json) -> None: ...
    def edited(self, payload: Json) -> None: ...
    def interaction(self, payload: Json) -> None: ...
    def reacted(self, payload: Json, gone: bool) -> None:
        """Somebody put a reaction to a message, or took it away."""

    def removed(self, guild: str) -> None:
        """Somebody removed the bot from the guild of this name."""


def listen(parsers: dict[str, Callable[[Any], None]], listener: Listener) -> None:
    """Let the events that matter go to the listener: instead of to the library, or after it."""
    for event, parse in parsers.items():
        parsers[event] = _guarded(event, parse)
    for event, tell in (
        ("MESSAGE_CREATE", listener.message),
        ("MESSAGE_UPDATE", listener.edited),
        ("INTERACTION_CREATE", listener.interaction),
        ("MESSAGE_REACTION_ADD", partial(listener.reacted, gone=False)),
        ("MESSAGE_REACTION_REMOVE", partial(listener.reacted, gone=True)),
    ):
        parsers[event] = _guarded(event, tell)
    for event, then in (
        ("READY", listener.began),
        ("RESUMED", listener.resumed),
        ("GUILD_CREATE", listener.arrived),
    ):
        parsers[event] = _followed(event, parsers[event], then)


def _guarded(event: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
    """An event that cannot be read is passed over: raised, it would end the connection, and again after the next."""

    def guarded(payload: Any) -> None:
        try:
            parse(payload)
        except Exception as error:  # events of unknown kinds may raise anything
            log.error("Discord: can't parse a %s event, skipping it: %s", event, type(error).__name__)
            log.debug("the unreadable event", exc_info=True)

    return guarded


def _followed(event: str, parse: Callable[[Any], None], then: Callable[[Json], None]) -> Callable[[Any], None]:
    follow = _guarded(event, then)

    def both(payload: Any) -> None:
        parse(payload)
        follow(payload)

    return both
