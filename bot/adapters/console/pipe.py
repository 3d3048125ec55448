"""One line in, one reply out, for scripts. A document is printed in place of the text sent with it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from bot.adapters.console.hints import LEAVE, PromptOptions, is_mistyped_exit, typed_equivalent
from bot.adapters.console.saving import save_note
from bot.adapters.console.speaker import ConsoleUser, Take, Unanswered, body, exit_hint, not_saved_notice
from bot.adapters.console.streams import BlockingCalls, Streams, lines, write
from routing.errors import StorageFault, system_reason
from routing.llm.null_reply import NullLiveReply
from routing.types.messages import InboundMessage, OutboundMessage, OutgoingFile


class Pipe:
    """Takes a line only after printing the reply to the previous one."""

    def __init__(
        self,
        console_user: ConsoleUser,
        take: Take,
        unanswered: Unanswered | None,
        streams: Streams,
        options: PromptOptions,
    ) -> None:
        self._speaker = console_user
        self._commands = options.commands
        self._exports = options.exports
        self._take = take
        self._unanswered = unanswered
        self._lines = lines(streams.stdin)
        self._stdout = streams.stdout
        self._stderr = streams.stderr
        self._reading = BlockingCalls("console-reading")
        self._writing = BlockingCalls("console-writing")
        self._code = 0
        self._asked = ""
        self._replied = asyncio.Event()
        self._over = asyncio.Event()

    async def run(self) -> int:
        """Returns 0 at the end of the input, at `/exit` or when the output is closed, 1 if a line can't be saved."""
        while (line := await self._next()) is not None:
            message = self._speaker.says(line)
            typed = message.text.strip()
            if typed.lower() in LEAVE:
                break
            if is_mistyped_exit(typed, self._commands):
                with suppress(OSError):
                    await self._print(exit_hint(typed, self._speaker.say) + "\n\n")
                continue
            if not typed:
                continue
            self._asked = message.update_id
            self._replied.clear()
            try:
                await self._take(message)
            except StorageFault as error:  # no reply will come
                await self._complain(not_saved_notice(error, self._speaker.say) + "\n")
                return 1
            await self._reply(message)
            if not self._over.is_set():
                self._asked = ""
        return self._code

    async def say(self, message: OutboundMessage, recovered: bool) -> None:
        """Print the reply to the current line on stdout, and everything else, such as recovered replies and spoken
        answers, on stderr."""
        if message.document is not None:
            message = replace(message, text=message.document.text)
        elif commands := typed_equivalent(message.buttons):
            typed = self._speaker.say("You can type: {commands}", commands=commands)
            message = replace(message, text=f"{message.text.rstrip()}\n{typed}")
        notes = [await self._writing.run(partial(self._saved, each)) for each in message.files]
        text = "\n".join([body(message, recovered, self._speaker.say), *notes]) + "\n\n"
        if recovered or message.apart or not self._asked or message.reply_to not in ("", self._asked):
            await self._complain(text)
        else:
            await self._print(text)
            self._replied.set()

    def _saved(self, file: OutgoingFile) -> str:
        return save_note(file, self._exports, self._speaker.say)

    def live(self, message: InboundMessage, streaming: bool) -> NullLiveReply:
        """Nothing is shown before the reply."""
        return NullLiveReply()

    async def waiting(self, message: InboundMessage) -> None:
        """Does nothing, because lines are taken one at a time."""

    def stop(self) -> None:
        """Take no more lines, and stop waiting for replies."""
        self._over.set()

    def close(self) -> None:
        """Stop the threads."""
        self._reading.close()
        self._writing.close()

    async def _next(self) -> str | None:
        """The next line; None at end of input."""
        reading = asyncio.ensure_future(self._reading.run(lambda: next(self._lines, None)))
        try:
            await _first(reading, asyncio.ensure_future(self._over.wait()))
            return None if self._over.is_set() else reading.result()
        except OSError as error:
            await self._complain(
                self._speaker.say("The input can't be read ({error}).", error=system_reason(error)) + "\n"
            )
            self._code = 1
            return None

    async def _reply(self, message: InboundMessage) -> None:
        """Wait until the reply is printed; a message without a reply gets an empty line."""
        ends: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(self._replied.wait()),
            asyncio.ensure_future(self._over.wait()),
        ]
        if self._unanswered is not None:
            ends.append(asyncio.ensure_future(self._unanswered(message)))
        await _first(*ends)
        if not self._replied.is_set() and not self._over.is_set():
            with suppress(OSError):
                await self._print("\n")

    async def _print(self, text: str) -> None:
        try:
            await self._writing.run(lambda: write(self._stdout, text))
        except OSError:
            self._over.set()
            raise

    async def _complain(self, text: str) -> None:
        with suppress(OSError):
            await self._writing.run(lambda: write(self._stderr, text))


async def _first(*ends: asyncio.Future[Any]) -> None:
    """Wait for the first future and cancel the others. Raises the first one's exception."""
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in ends:
            if not each.done():
                each.cancel()
    for each in ends:
        if each.done() and not each.cancelled():
            each.result()
