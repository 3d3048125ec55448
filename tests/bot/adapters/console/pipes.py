"""Three pipes for a terminal, and a conversation through them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TextIO

from bot.adapters.console import Unanswered
from tests.bot.adapters.console.fake_bot import TIMEOUT_SECONDS, FakeBot


class Ends:
    """The other ends of the three pipes."""

    def __init__(self) -> None:
        self._all: list[int] = []
        (self.stdin, self.typing), (self.reading, self.stdout), (self.errors, self.stderr) = (
            self._pair(),
            self._pair(),
            self._pair(),
        )

    def streams(self) -> tuple[TextIO, TextIO, TextIO]:
        """The platform's ends."""
        return (
            os.fdopen(self.stdin, closefd=False),
            os.fdopen(self.stdout, "w", closefd=False, encoding="utf-8"),
            os.fdopen(self.stderr, "w", closefd=False, encoding="utf-8"),
        )

    def type(self, data: bytes) -> None:
        """Writes the whole input, and closes it."""
        os.write(self.typing, data)
        self.drop(self.typing)

    def printed(self) -> str:
        """All of stdout, after its end."""
        self.drop(self.stdout)
        return _rest(self.reading)

    def stderr_text(self) -> str:
        """All of stderr, after its end."""
        self.drop(self.stderr)
        return _rest(self.errors)

    def drop(self, *numbers: int) -> None:
        """Closes these ends, or all remaining ones."""
        for number in numbers or tuple(self._all):
            if number in self._all:
                self._all.remove(number)
                with suppress(OSError):
                    os.close(number)

    def _pair(self) -> tuple[int, int]:
        pair = os.pipe()
        self._all += pair
        return pair


def _rest(number: int) -> str:
    with os.fdopen(number, "rb", closefd=False) as stream:
        return stream.read().decode()


async def talk(
    fake_bot: FakeBot, ends: Ends, history: Path, stdin: TextIO | None = None, unanswered: Unanswered | None = None
) -> int:
    """Runs a whole conversation; returns the exit code."""
    own, stdout, stderr = ends.streams()
    platform = fake_bot.connect(stdin or own, stdout, stderr, history, unanswered)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await platform.start()
        code = await platform.run()
        await fake_bot.rest()
        await platform.close()
    return code


@asynccontextmanager
async def talking(fake_bot: FakeBot, ends: Ends, history: Path) -> AsyncIterator[asyncio.Task[int]]:
    """A conversation that runs while the test observes it."""
    fake_bot.connect(*ends.streams(), history)
    await fake_bot.platform.start()
    task = asyncio.create_task(fake_bot.platform.run())
    yield task
    await fake_bot.platform.close()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await task
