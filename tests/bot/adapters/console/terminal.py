"""The prompt under test: keys go in through a pipe, and the screen's output is read back."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

from prompt_toolkit.application import create_app_session, get_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from tests.bot.adapters.console.fake_bot import TIMEOUT_SECONDS, FakeBot
from tests.keyboard import CTRL_D, UP, Tty
from tests.polling import until

ROWS, COLUMNS = 24, 80


class Terminal:
    """A person in front of the terminal."""

    def __init__(self, fake_bot: FakeBot, keys: PipeInput, screen: StringIO, errors: StringIO, run: asyncio.Task[int]):
        self.fake_bot = fake_bot
        self.screen = screen
        self.errors = errors
        self.run = run
        self._keys = keys

    def type(self, keys: str) -> None:
        """Press keys."""
        self._keys.send_text(keys)

    @property
    def shown(self) -> str:
        """Everything written to the screen, without control sequences."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.screen.getvalue())
        return re.sub(r" +$", "", text.replace("\r", ""), flags=re.MULTILINE)

    @property
    def typed(self) -> str:
        """The text after the prompt."""
        app = get_app_session().app
        return app.current_buffer.text if app else ""

    async def recalls(self, text: str) -> None:
        """Presses Up until the history, which loads in the background, appears."""

        def there() -> bool:
            if self.typed != text:
                self.type(UP)
            return self.typed == text

        await until(there)

    async def sees(self, text: str) -> None:
        """Waits for a text."""
        await until(lambda: text in self.shown)

    async def leaves(self) -> int:
        """Presses Ctrl-D; returns the exit code."""
        self.type(CTRL_D)
        return await self.ends()

    async def ends(self) -> int:
        """Waits for the end; returns the exit code."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self.run


@asynccontextmanager
async def at_prompt(fake_bot: FakeBot, history: Path) -> AsyncIterator[Terminal]:
    screen, errors = StringIO(), Tty()
    with create_pipe_input() as keys:
        output = Vt100_Output(screen, lambda: Size(ROWS, COLUMNS), term="xterm")
        with create_app_session(input=keys, output=output):
            platform = fake_bot.connect(Tty(), Tty(), errors, history)
            await platform.start()
            run = asyncio.create_task(platform.run())
            terminal = Terminal(fake_bot, keys, screen, errors, run)
            await terminal.sees("›")
            try:
                yield terminal
            finally:
                await platform.close()
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    assert await run == 0
                    await fake_bot.rest()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
