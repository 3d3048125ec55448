"""Waiting for the bot's actions, on both chat servers."""

import time
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, Self, TypeVar, overload

from tests.servers.changes import Changes

TIMEOUT_SECONDS = 60.0
"""Seconds; a bot that starts on a busy machine takes most of them until its first answer."""


class _Text(Protocol):
    @property
    def text(self) -> str: ...


SourceT = TypeVar("SourceT")
MessageT = TypeVar("MessageT", bound=_Text)
T = TypeVar("T")
Matching = Callable[[MessageT], Any] | str | None


class Waiting(Changes, Generic[SourceT, MessageT]):
    """Every wait ends on the event that it waits for, or fails with the whole log as its text."""

    @cached_property
    def returned(self) -> set[MessageT]:
        """The messages that `reply` has returned."""
        return set()

    @abstractmethod
    def replies_to(self, to: SourceT | None, after: MessageT | None) -> list[MessageT]:
        """The bot's messages there, oldest first, later than `after`."""

    @abstractmethod
    def log(self) -> str:
        """All that happened, for the message of a failed wait."""

    async def wait_for(self, condition: Callable[[Self], T], timeout: float = TIMEOUT_SECONDS) -> T:
        """The condition's first true value; asked again after every change. AssertionError after `timeout` s."""
        deadline = time.monotonic() + timeout
        while not (value := condition(self)):
            left = deadline - time.monotonic()
            if left <= 0 or not await self.wait_for_change(left):
                if value := condition(self):
                    break
                raise AssertionError(f"not true within {timeout} s\n{self.log()}")
        return value

    @overload
    # The forms overlap, because 1 is an int, too. Type checkers take the first that fits.
    async def reply(  # type: ignore[overload-overlap]
        self,
        to: SourceT | None = None,
        *,
        after: MessageT | None = None,
        count: Literal[1] = 1,
        matching: Matching[MessageT] = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> MessageT: ...

    @overload
    async def reply(
        self,
        to: SourceT | None = None,
        *,
        after: MessageT | None = None,
        count: int,
        matching: Matching[MessageT] = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> list[MessageT]: ...

    async def reply(
        self,
        to: SourceT | None = None,
        *,
        after: MessageT | None = None,
        count: int = 1,
        matching: Matching[MessageT] = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> MessageT | list[MessageT]:
        """The next bot message that was not returned before; with `count` > 1 a list. `to` says where, as the server
        explains; default Alice's private chat.

        `after`: only later ones. `matching`: only those whose text contains it, or for which it is true; asked again
        after every edit, so it can wait for the final state of a streamed answer.
        """

        def fresh(_: object) -> list[MessageT]:
            found = [message for message in self.replies_to(to, after) if message not in self.returned]
            found = [message for message in found if _matches(message, matching)]
            return found[:count] if len(found) >= count else []

        messages = await self.wait_for(fresh, timeout)
        self.returned.update(messages)
        return messages[0] if count == 1 else messages


def _matches(message: MessageT, wanted: Matching[MessageT]) -> bool:
    if wanted is None:
        return True
    return wanted in message.text if isinstance(wanted, str) else bool(wanted(message))
