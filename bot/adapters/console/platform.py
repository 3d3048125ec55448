"""The terminal as a platform: a prompt for a person, a pipe for a script."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace

from bot.adapters.console.hints import PRESS, PromptOptions, press_only
from bot.adapters.console.pipe import Pipe
from bot.adapters.console.speaker import PLATFORM, ConsoleInterface, ConsoleUser, Unanswered
from bot.adapters.console.streams import Streams
from bot.adapters.console.views import MAX_FILE_BYTES
from bot.platform import Accept, KeepPlaceholder, Progress, SendLater, Sent
from handlers.replies.callback_buttons import token
from routing.errors import Reason, Refused, system_reason
from routing.ports import Clock, LiveReply
from routing.types.messages import Attachment, InboundMessage, OutboundMessage, Press

_PRESS = re.compile(rf"\s{{0,9}}{PRESS} (\d{{1,2}})\s{{0,9}}")
NOTICE = "notice"
"""The `reply_to` of a notice that bypasses the outbox; the current line still waits for its reply."""
GONE_SECONDS = 60.0
"""Retry delay after the terminal was closed; the process ends before that."""


class ConsolePlatform:
    """One person at a terminal, or a script behind a pipe. Call `start`, then `run` until the input ends.

    A line is answered by the first reply whose `reply_to` is its `message_id` or empty. A pipe needs `unanswered` to
    learn that no reply will come. A prompt requires `streams` to be those of the process. `steady` is the clock of
    `progress`.
    """

    name = PLATFORM
    max_file_bytes = MAX_FILE_BYTES

    def __init__(
        self,
        console_user: ConsoleUser,
        accept: Accept,
        streams: Streams,
        options: PromptOptions,
        unanswered: Unanswered | None = None,
        steady: Clock | None = None,
    ) -> None:
        self.progress = Progress()
        self._speaker = console_user
        self._keep = accept
        self._streams = streams
        self._options = options
        self._unanswered = unanswered
        self._steady = steady or console_user.clock
        self._front: ConsoleInterface | None = None
        self._pressable: tuple[int, tuple[tuple[int, int], ...]] = (0, ())

    async def start(self) -> None:
        """Prepare for printing; `run` takes the lines."""
        if self._front is None:
            await self._speaker.listen()
            self._front = await asyncio.to_thread(self._prompt) if self._streams.interactive else self._pipe()
            self.progress.up_since = self._steady()

    async def run(self) -> int:
        """Take lines until the input ends; returns the exit code of the process."""
        await self.start()
        return await self._ready().run()

    async def stop_receiving(self) -> None:
        """Make `run` return; the reply to the current line is still printed."""
        if self._front is not None:
            self._front.stop()

    async def close(self) -> None:
        """Stop the threads that read and write."""
        if self._front is not None:
            self._front.stop()
            self._front.close()

    async def send(
        self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool
    ) -> AsyncIterator[Sent]:
        """Print a reply in one piece. Raises SendLater if the terminal was closed."""
        if places := tuple(place for place, _ in press_only(message.buttons)):
            self._pressable = outbox_id, places
        if not outbox_id:
            message = replace(message, reply_to=NOTICE)
        if not first_piece:
            await self._speaker.listen()
            try:
                await self._ready().say(message, recovered)
            except OSError as error:
                reason = Reason("the terminal was closed ({error})", error=system_reason(error))
                raise SendLater(reason, GONE_SECONDS, maybe_sent=True) from error
        yield Sent(message_id=str(outbox_id), last=True)

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        """The growing answer above the prompt; shows nothing in a pipe. `placeholder` is ignored."""
        return self._ready().live(message, streaming)

    async def waiting(self, message: InboundMessage) -> None:
        """Say that the line is queued."""
        await self._ready().waiting(message)

    async def fetch(self, attachment: Attachment) -> bytes:
        """Raises Refused: a terminal has no attachments."""
        raise Refused("The terminal can't open files, so “{name}” was left out.", name=attachment.name)

    async def _take(self, message: InboundMessage) -> None:
        await self._keep([self._pressed(message)])
        self.progress.last_update = self._steady()

    def _pressed(self, message: InboundMessage) -> InboundMessage:
        """A line such as `/press 2` as a button press; other lines unchanged."""
        outbox_id, places = self._pressable
        found = _PRESS.fullmatch(message.text)
        if found is None or not 0 < int(found[1]) <= len(places):
            return message
        press = Press(message.message_id, str(outbox_id))
        return replace(message, kind="press", text=token(outbox_id, *places[int(found[1]) - 1]), press=press)

    def _ready(self) -> ConsoleInterface:
        if self._front is None:
            raise RuntimeError("start() comes before everything else")
        return self._front

    def _pipe(self) -> ConsoleInterface:
        return Pipe(self._speaker, self._take, self._unanswered, self._streams, self._options)

    def _prompt(self) -> ConsoleInterface:
        # Imports for 0.1 s, which a pipe does not need.
        from bot.adapters.console.prompt import Prompt

        return Prompt(self._speaker, self._take, self._options, self._streams.stderr)
