"""The terminal as a platform: which of the two ways of talking it is, and what both owe to the house."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from bot.adapters.console.hints import PRESS, CommandHint, press_only
from bot.adapters.console.pipe import Pipe
from bot.adapters.console.speaker import PLATFORM, Front, Speaker, Unanswered
from bot.platform import Accept, KeepPlaceholder, Progress, SendLater, Sent
from handlers.presses import token
from routing.errors import Refused
from routing.ports import Clock, LiveReply
from routing.types.messages import Attachment, InboundMessage, OutboundMessage, Press

__all__ = ["ConsolePlatform", "Unanswered"]

_PRESS = re.compile(rf"\s{{0,9}}{PRESS} (\d{{1,2}})\s{{0,9}}")
NOTICE = "notice"
"""The `reply_to` of a message past the outbox: the line that it is about still waits for its reply."""
GONE_SECONDS = 60.0
"""When to try again after the reader has left: not in this process's life, which ends with `run`."""


class ConsolePlatform:
    """One person at a terminal, or a script behind a pipe; `start` it, then `run` it to the end of its input.

    A line is answered by the first reply whose `reply_to` is its `message_id` (or empty). `unanswered` frees a
    pipe from waiting for a reply that never comes; see `Unanswered`. A prompt talks to the terminal of the
    process, which `stdin` and `stdout` must be then; it puts documents into the folder `exports` beside `history_file`,
    where a pipe prints them. `notice` stands below the banner of a prompt.
    """

    def __init__(
        self,
        *,
        user_name: str,
        accept: Accept,
        commands: tuple[CommandHint, ...],
        history_file: Path,
        clock: Clock,
        steady: Clock | None = None,
        stdin: TextIO,
        stdout: TextIO,
        stderr: TextIO,
        unanswered: Unanswered | None = None,
        name: str = PLATFORM,
        notice: str = "",
    ) -> None:
        self.name = name
        self.progress = Progress()
        self._speaker = Speaker(user_name, clock)
        self._keep = accept
        self._commands = commands
        self._history_file = history_file
        self._steady = steady or clock
        self._streams = (stdin, stdout, stderr)
        self._unanswered = unanswered
        self._front: Front | None = None
        self._notice = notice
        self._pressable: tuple[int, tuple[tuple[int, int], ...]] = (0, ())

    @property
    def interactive(self) -> bool:
        """Whether a person sits at both ends."""
        stdin, stdout, _ = self._streams
        return stdin.isatty() and stdout.isatty()

    async def start(self) -> None:
        """Get ready to print; lines are taken by `run`."""
        if self._front is None:
            self._front = await asyncio.to_thread(self._prompt) if self.interactive else self._pipe()
            self.progress.up_since = self.progress.last_contact = self._steady()

    async def run(self) -> int:
        """Talk until the input ends; the exit code of the process."""
        await self.start()
        return await self._ready().run()

    async def stop_receiving(self) -> None:
        """`run` returns; the reply to the line in hand is still printed."""
        if self._front is not None:
            self._front.stop()

    async def close(self) -> None:
        """Let go of the threads that read and write."""
        if self._front is not None:
            self._front.stop()
            self._front.close()

    async def send(
        self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool
    ) -> AsyncIterator[Sent]:
        """Print a reply whole, as its one piece. Raises SendLater when nobody reads any more."""
        if places := tuple(place for place, _ in press_only(message.buttons)):
            self._pressable = outbox_id, places
        if not outbox_id:
            message = replace(message, reply_to=NOTICE)
        if not first_piece:
            try:
                await self._ready().say(message, recovered)
            except OSError as error:
                reason = f"the terminal was closed ({error.strerror or error})"
                raise SendLater(reason, GONE_SECONDS, maybe_sent=True) from error
        yield Sent(message_id=str(outbox_id), last=True)

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        """The answer as it grows, above the prompt; a pipe shows none. No message is left behind to go on in."""
        return self._ready().live(message, streaming)

    async def waiting(self, message: InboundMessage) -> None:
        """Say that the line is queued."""
        await self._ready().waiting(message)

    async def fetch(self, attachment: Attachment) -> bytes:
        """Raises Refused: nothing can be attached here."""
        raise Refused("The terminal can't open files, so “{name}” was left out.", name=attachment.name)

    async def _take(self, message: InboundMessage) -> None:
        await self._keep([self._pressed(message)])
        self.progress.last_contact = self.progress.last_update = self._steady()

    def _pressed(self, message: InboundMessage) -> InboundMessage:
        """A line that presses a button by its number, as the press."""
        outbox_id, places = self._pressable
        found = _PRESS.fullmatch(message.text)
        if found is None or not 0 < int(found[1]) <= len(places):
            return message
        press = Press(message.message_id, str(outbox_id))
        return replace(message, kind="press", text=token(outbox_id, *places[int(found[1]) - 1]), press=press)

    def _ready(self) -> Front:
        if self._front is None:
            raise RuntimeError("start() comes before everything else")
        return self._front

    def _pipe(self) -> Front:
        return Pipe(self._speaker, self._take, self._unanswered, *self._streams)

    def _prompt(self) -> Front:
        # A tenth of a second of imports that a pipe does not need.
        from bot.adapters.console.prompt import Prompt

        return Prompt(self._speaker, self._take, self._commands, self._history_file, self._streams[2], self._notice)
