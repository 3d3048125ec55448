"""A fake bot behind the terminal: stores typed messages, and answers through `send` like the outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from pathlib import Path
from typing import TextIO

from bot.adapters.console import CommandHint, ConsolePlatform, ConsoleUser, PromptOptions, Streams, Unanswered
from routing.types.messages import Button, InboundMessage, OutboundMessage
from tests.fakes import ManualClock

COMMANDS = (
    CommandHint("tier", "show or set the tier", (("auto", "balanced", "smart"), ("force",))),
    CommandHint("tools", "what I can use"),
    CommandHint("stop", "Stop the answer in progress"),
)
TIMEOUT_SECONDS = 60.0


class FakeBot:
    """Answers each message with `answer(text)`; None leaves the reply to the test."""

    def __init__(self, answer: Callable[[str], str | None] = lambda text: f"You said {text}") -> None:
        self.answer = answer
        self.messages: list[InboundMessage] = []
        self.replies = 0
        self.replies_before: list[int] = []
        self.clock = ManualClock()
        self.fault: Exception | None = None
        self.locale = self.language = ""
        self.notice = ""
        self.failures: list[BaseException] = []
        self._ids = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._platform: ConsolePlatform | None = None

    @property
    def platform(self) -> ConsolePlatform:
        """The platform that `connect` built."""
        assert self._platform is not None
        return self._platform

    def connect(
        self,
        stdin: TextIO,
        stdout: TextIO,
        stderr: TextIO,
        history: Path,
        unanswered: Unanswered | None = None,
    ) -> ConsolePlatform:
        """Builds the platform with this bot behind it."""
        self._platform = ConsolePlatform(
            ConsoleUser("ann", self.clock, self.locale, self.chosen),
            self.accept,
            Streams(stdin, stdout, stderr),
            PromptOptions(history, COMMANDS, self.notice),
            unanswered,
        )
        return self._platform

    async def chosen(self) -> str:
        """The language set with /settings."""
        return self.language

    async def accept(self, messages: Sequence[InboundMessage]) -> None:
        """Stores them; replies follow in separate tasks."""
        if self.fault is not None:
            raise self.fault
        (message,) = messages
        self.messages.append(message)
        self.replies_before.append(self.replies)
        text = self.answer(message.text)
        if text is not None:
            self._begin(self.reply(message, text))

    async def reply(
        self,
        message: InboundMessage,
        text: str,
        *,
        recovered: bool = False,
        buttons: tuple[tuple[Button, ...], ...] = (),
    ) -> None:
        """Sends one complete reply."""
        reply = OutboundMessage(message.chat, text, reply_to=message.message_id, buttons=buttons)
        number = next(self._ids)
        async for sent in self.platform.send(reply, number, 0, recovered):
            assert (sent.message_id, sent.last) == (str(number), True)
            self.replies += 1

    @property
    def texts(self) -> list[str]:
        """The typed texts."""
        return [message.text for message in self.messages]

    async def rest(self) -> None:
        """Waits for running replies; their errors are in `failures`."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.failures.append(error)


async def kept(text: str) -> None:
    """The terminal has no placeholders to store."""
    raise AssertionError(text)
