"""Asks the owners about strangers and answers strangers once they are admitted."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from handlers.access.codes import CODE_SECONDS, shown
from handlers.notices.notices import Notices
from handlers.replies.names import plain_name, quoted
from routing.ports import Clock, PeopleStore
from routing.types.messages import Button, InboundMessage, UserKey
from routing.types.people import Pairing

MAX_CARDS = 5
"""Maximum number of strangers announced one by one within `CODE_SECONDS`. Beyond that, owners get one summary."""

Accept = Callable[[Sequence[InboundMessage]], Awaitable[None]]
"""Puts messages into the durable inbox."""


def display_name(name: str, user: UserKey, username: str = "") -> str:
    """A person's name for others, as Markdown: name and username where known, else the account."""
    handle = f"`@{username.replace('`', '')}`" if username else ""
    plain = plain_name(name)
    if plain and handle:
        return f"{plain} ({handle})"
    return plain or handle or f"`{user}`"


class Approvals:
    """`accept` queues the messages that strangers wrote before they were admitted."""

    def __init__(self, people: PeopleStore, notices: Notices, accept: Accept, clock: Clock) -> None:
        self._people = people
        self._notices = notices
        self._accept = accept
        self._clock = clock
        self._asked: deque[float] = deque(maxlen=MAX_CARDS + 1)

    async def announce(self, stranger: Pairing) -> None:
        """Asks the owners about a stranger. Limited to `MAX_CARDS`; /access lists everyone who waits."""
        now = self._clock()
        recent = sum(at > now - CODE_SECONDS for at in self._asked)
        if recent > MAX_CARDS:
            return
        self._asked.append(now)
        if recent == MAX_CARDS:
            await self._notices.tell_owners("🔔 More people want to use me. /access lists them.")
            return
        words = stranger.messages[-1].text if stranger.messages else ""
        values = {
            "name": display_name(stranger.name, stranger.user, stranger.username),
            "account": f"`{stranger.user}`",
            "code": f"`{shown(stranger.code)}`",
            "words": quoted(words),
        }
        template = (
            "🔔 {name} wants to use me: {words} ({account}, code {code})"
            if words.strip()
            else "🔔 {name} wants to use me ({account}, code {code})"
        )
        await self._notices.tell_owners(
            template,
            (
                Button("✅ Allow", f"/access allow {stranger.user}"),
                Button("🚫 Block", f"/access block {stranger.user}"),
            ),
            **values,
        )

    async def answer_admitted(self, welcome: bool = True) -> None:
        """Welcomes admitted strangers and answers the messages they wrote while waiting. Idempotent: each message is
        accepted once."""
        for each in await self._people.admitted():
            if welcome:
                await self._notices.welcome(each.user)
            await self._accept(
                [replace(message, update_id=f"{message.update_id}:let in"[:64]) for message in each.messages]
            )
            await self._people.release(each.user)
