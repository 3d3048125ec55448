"""One line in, one reply out: the conversation of a script. A document is the reply itself, without the words that
would go with it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any, TextIO

from bot.adapters.console.hints import typed_instead
from bot.adapters.console.lane import Lane
from bot.adapters.console.speaker import Speaker, Take, Unanswered, body, not_taken
from bot.adapters.console.streams import lines, write
from routing.types.messages import InboundMessage, OutboundMessage

LEAVE = ("/exit", "/quit")


class Silent:
    """A live reply that shows nothing: a pipe only carries finished ones."""

    async def working(self) -> None:
        """Nothing to see."""

    def show(self, text: str) -> None:
        """Nothing to see."""

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        """Nothing was pressed."""

    async def close(self) -> str:
        """There is no message to replace."""
        return ""


class Pipe:
    """Takes a line only after the reply to the one before has been printed."""

    def __init__(
        self,
        speaker: Speaker,
        take: Take,
        unanswered: Unanswered | None,
        stdin: TextIO,
        stdout: TextIO,
        stderr: TextIO,
    ) -> None:
        self._speaker = speaker
        self._take = take
        self._unanswered = unanswered
        self._lines = lines(stdin)
        self._stdout = stdout
        self._stderr = stderr
        self._reading = Lane("console-reading")
        self._writing = Lane("console-writing")
        self._code = 0
        self._asked = ""
        self._replied = asyncio.Event()
        self._over = asyncio.Event()

    async def run(self) -> int:
        """0 at the end of the input, at `/exit`, or when the output is closed; 1 when a line can't be kept."""
        while (line := await self._next()) is not None:
            message = self._speaker.says(line)
            if not message.text.strip():
                continue
            if message.text.strip().lower() in LEAVE:
                break
            self._asked = message.update_id
            self._replied.clear()
            try:
                await self._take(message)
            except Exception as error:  # after any storage error no answer will come
                await self._complain(not_taken(error) + "\n")
                return 1
            await self._reply(message)
            if not self._over.is_set():
                self._asked = ""
        return self._code

    async def say(self, message: OutboundMessage, recovered: bool) -> None:
        """On stdout the reply to the line in hand; on stderr whatever else comes, such as what a crash left."""
        if message.document is not None:
            message = replace(message, text=message.document.text)
        elif commands := typed_instead(message.buttons):
            message = replace(message, text=f"{message.text.rstrip()}\nYou can type: {commands}")
        text = body(message, recovered) + "\n\n"
        if recovered or not self._asked or message.reply_to not in ("", self._asked):
            await self._complain(text)
        else:
            await self._print(text)
            self._replied.set()

    def live(self, message: InboundMessage, streaming: bool) -> Silent:
        """Nothing is shown before the reply."""
        return Silent()

    async def waiting(self, message: InboundMessage) -> None:
        """No line waits here: the next is taken after the reply."""

    def stop(self) -> None:
        """Take no more lines and wait for no more replies."""
        self._over.set()

    def close(self) -> None:
        """Let the threads end."""
        self._reading.close()
        self._writing.close()

    async def _next(self) -> str | None:
        """The next line; None when there is none to take."""
        reading = asyncio.ensure_future(self._reading.run(lambda: next(self._lines, None)))
        try:
            await _first(reading, asyncio.ensure_future(self._over.wait()))
            return None if self._over.is_set() else reading.result()
        except OSError as error:
            await self._complain(f"The input can't be read ({error.strerror or error}).\n")
            self._code = 1
            return None

    async def _reply(self, message: InboundMessage) -> None:
        """Wait until the reply is out; a message that surely gets none has an empty one."""
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
    """Wait for the first of them and let go of the others; raises what it raised."""
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in ends:
            if not each.done():
                each.cancel()
    for each in ends:
        if each.done() and not each.cancelled():
            each.result()
