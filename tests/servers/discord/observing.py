"""Waiting for what the bot does, and asking what it did."""

import time
from collections.abc import Callable
from typing import Any, Literal, Self, TypeVar, overload

from tests.servers.discord.journal import Interaction, Request
from tests.servers.discord.message import Message
from tests.servers.discord.people import Where, Who
from tests.servers.discord.script import Script
from tests.servers.discord.session import Session
from tests.servers.discord.transcript import transcript
from tests.servers.discord.values import Channel, Json, User

PATIENCE = 30.0
"""Seconds; a bot that starts on a busy machine takes most of them until its first answer."""
Source = Message | Channel | User | Interaction | int | str
T = TypeVar("T")


class Observing(Script):
    """Every wait ends on the event that it waits for, or fails with the whole log as its text."""

    def __init__(self, bot: User, clock: Callable[[], float], privileged: set[str]) -> None:
        super().__init__(bot, clock, privileged)
        self._returned: set[Message] = set()

    async def wait_for(self, condition: Callable[[Self], T], timeout: float = PATIENCE) -> T:
        """The condition's first true value; asked again after every change. AssertionError after `timeout` s."""
        deadline = time.monotonic() + timeout
        while not (value := condition(self)):
            left = deadline - time.monotonic()
            if left <= 0 or not await self.wait_for_change(left):
                if value := condition(self):
                    break
                raise AssertionError(f"not true within {timeout} s\n{transcript(self)}")
        return value

    async def ready(self, timeout: float = PATIENCE) -> Session:
        """The newest session that is connected; to its bot everything up to now was sent."""
        found = await self.wait_for(lambda dc: [one for one in dc.sessions if one.is_connected], timeout)
        return found[-1]

    @overload
    async def reply(  # type: ignore[overload-overlap]
        self,
        to: Source | None = None,
        *,
        after: Message | None = None,
        count: Literal[1] = 1,
        matching: Callable[[Message], Any] | str | None = None,
        timeout: float = PATIENCE,
    ) -> Message: ...

    @overload
    async def reply(
        self,
        to: Source | None = None,
        *,
        after: Message | None = None,
        count: int,
        matching: Callable[[Message], Any] | str | None = None,
        timeout: float = PATIENCE,
    ) -> list[Message]: ...

    async def reply(
        self,
        to: Source | None = None,
        *,
        after: Message | None = None,
        count: int = 1,
        matching: Callable[[Message], Any] | str | None = None,
        timeout: float = PATIENCE,
    ) -> Message | list[Message]:
        """The next bot message that was not returned before; with `count` > 1 a list. `to` is a channel, a message in
        it, a user (their DM), an id, a channel's name in Team, or an interaction (its answers); default Alice's DM.

        `after`: only later ones. `matching`: only those whose text contains it, or for which it is true; asked again
        after every edit, so it can wait for the final state of a streamed answer. A deferral is no message yet.
        """

        def fresh(_: object) -> list[Message]:
            found = [m for m in self._answers(to) if m not in self._returned and not m.loading]
            found = [m for m in found if (after is None or m.id > after.id) and _matches(m, matching)]
            return found[:count] if len(found) >= count else []

        messages = await self.wait_for(fresh, timeout)
        self._returned.update(messages)
        return messages[0] if count == 1 else messages

    async def autocomplete(
        self,
        name: str,
        options: Json,
        focused: str,
        *,
        user: Who = None,
        where: Where = None,
        timeout: float = PATIENCE,
    ) -> list[Json]:
        """What is offered while `focused` is typed: name and value of each."""
        return (await self.answered(self.suggest(name, options, focused, user=user, where=where), timeout)).choices

    async def answered(self, interaction: Interaction, timeout: float = PATIENCE) -> Interaction:
        """The interaction, once its first answer has come."""
        await self.wait_for(lambda _: interaction.response is not None, timeout)
        return interaction

    def calls(self, method: str, route: str = "") -> list[Request]:
        """The calls of a route as the schema writes it, such as "/channels/{channel_id}/messages"."""
        return [entry for entry in self.requests if entry.method == method and route in ("", entry.route)]

    @property
    def refusals(self) -> list[Request]:
        """Calls answered with an error, ordered faults included."""
        return [request for request in self.requests if request.refused]

    @property
    def sessions(self) -> list[Session]:
        """Every session that was ever started, oldest first."""
        return self.events.sessions

    def transcript(self, channel: Channel | None = None) -> str:
        """The log as text: of one channel, or all there is."""
        return transcript(self, channel)

    def _answers(self, to: Source | None) -> list[Message]:
        if isinstance(to, Interaction):
            return [message for message in to.answers if not message.deleted]
        return self.place(to, self.user()).from_bot()


def _matches(message: Message, wanted: Callable[[Message], Any] | str | None) -> bool:
    if wanted is None:
        return True
    return wanted in message.text if isinstance(wanted, str) else bool(wanted(message))
