"""The pictures of the README: `python -m benchmarks.pictures` writes docs/chat.svg and docs/usage.png.

The chat is a real run of `python -m bot chat` in a terminal. Only the model is scripted: the loopback server of the
tests plays an Ollama. The chart is what `/usage 14d` sends, drawn by the same code from made-up amounts.
"""

from __future__ import annotations

import argparse
import asyncio
import codecs
import fcntl
import os
import pty
import re
import struct
import sys
import tempfile
import termios
from datetime import date, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from benchmarks.screen import Screen
from handlers.languages import Say
from handlers.replies.charts import usage_chart
from routing.types.usage import Day, Spending
from tests.servers.model import ModelServer
from tests.servers.model.ollama import OllamaModel

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLUMNS, ROWS = 100, 60
TIMEOUT_SECONDS = 60.0
PROMPT = "›"
CUT = re.compile(r"\x1b(?:\[[0-9;?]*)?\Z")
"""An incomplete control sequence at the end of the output."""
SMALL, CODER = "qwen2.5:3b", "qwen2.5-coder:7b"
CODE = '''\
Here it is:

```python
import csv

def header(path: str) -> list[str]:
    """The column names of a CSV file."""
    with open(path, newline="", encoding="utf-8") as file:
        return next(csv.reader(file), [])
```
An empty file has no columns, so the result is an empty list.'''
LINES = (
    ("What do I pay for 3 nights at 84.50 plus 15 % tip?", "you pay"),
    ("/tier coding", "You can type"),
    ("Write a function that reads the header of a CSV file.", "empty list"),
    ("/usage", CODER),
)
"""What is typed, and a text that shows that the reply is complete."""
MODELS = ("anthropic/claude-sonnet-4-5", "openai/gpt-5.1", "gemini/gemini-2.5-flash", "ollama/qwen2.5:3b")
CENTS = ((31, 18, 4), (12, 25, 6), (0, 9, 3), (44, 30, 7), (52, 21, 5), (27, 33, 9), (8, 14, 2))
"""A week of made-up amounts, in cents, of all models but the last, which costs nothing."""


def main() -> int:
    """Write both files; says which."""
    argparse.ArgumentParser("benchmarks.pictures", description=__doc__).parse_args()
    svg = asyncio.run(chat())
    (DOCS / "chat.svg").write_text(svg, encoding="utf-8")
    (DOCS / "usage.png").write_bytes(usage_chart(days(date(2026, 11, 22), 14), Say("en")))
    print(f"{DOCS / 'chat.svg'}\n{DOCS / 'usage.png'}")
    return 0


def days(last: date, count: int) -> list[Day]:
    """Invented usage of `days` days, with models that all have a price."""
    return [_day(last - timedelta(days=count - 1 - number), number) for number in range(count)]


def _day(at: date, number: int) -> Day:
    cents = [*CENTS[number % len(CENTS)], 0]
    grown = [Decimal(each) * (10 + number) / 1000 for each in cents]
    return Day(
        at, tuple(Spending(model, 20, 30_000, 9_000, 0, cost, 0) for model, cost in zip(MODELS, grown, strict=True))
    )


async def chat() -> str:
    """The conversation of LINES as an SVG."""
    async with ModelServer() as server:
        server.ollama = {SMALL: OllamaModel(parameters="3.1B"), CODER: OllamaModel(parameters="7.6B")}
        server.call_tools([("calculate", {"expression": "3 * 84.50 * 1.15"})])
        server.reply("Three nights at 84.50 cost 253.50; with a tip of 15 % you pay **291.53**.")
        server.reply(CODE)
        with tempfile.TemporaryDirectory() as workspace:
            screen = await talk(server.vendor("ollama"), Path(workspace))
    return drawn(screen)


async def talk(ollama: str, workspace: Path) -> Screen:
    """Runs the bot in a pseudo-terminal, types LINES and waits for each reply."""
    environment = {
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "WORKSPACE": str(workspace),
        "OLLAMA_HOST": ollama,
        "TIER_BALANCED_POOL": f"ollama/{SMALL}",
        "TIER_CODING_POOL": f"ollama/{CODER}",
    }
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = (sys.executable, "-m", "bot", "chat", "--as", "you")
    bot = await asyncio.create_subprocess_exec(
        *command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    terminal = Terminal(ours, Screen(COLUMNS))
    try:
        await terminal.sees(PROMPT, 0)
        for line, ending in LINES:
            before = len(terminal.lines())
            terminal.type(f"{line}\r")
            await terminal.sees(ending, before)
    finally:
        bot.terminate()
        await bot.wait()
        terminal.close()
    return terminal.screen


class Terminal:
    """The user's end of a pseudo-terminal; `number` is its file descriptor."""

    def __init__(self, number: int, screen: Screen) -> None:
        self.screen = screen
        self._number = number
        self._changed = asyncio.Event()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._begun = ""
        asyncio.get_running_loop().add_reader(number, self._read)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._number, keys.encode())

    def lines(self) -> list[str]:
        """What is on the screen, without styles."""
        return self.screen.text().plain.splitlines()

    async def sees(self, text: str, after: int) -> None:
        """Wait until a line after the first `after` ones has the text and the last line is an empty prompt."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not (any(text in line for line in self.lines()[after:]) and self.lines()[-1].strip() == PROMPT):
                self._changed.clear()
                await self._changed.wait()

    def close(self) -> None:
        """Closes the pseudo-terminal."""
        asyncio.get_running_loop().remove_reader(self._number)
        os.close(self._number)

    def _read(self) -> None:
        try:
            text = self._begun + self._decoder.decode(os.read(self._number, 65_536))
        except OSError:  # Linux says so when the other end is closed
            asyncio.get_running_loop().remove_reader(self._number)
            return
        whole = CUT.sub("", text)
        self._begun = text[len(whole) :]
        self.screen.feed(whole)
        self._changed.set()


def drawn(screen: Screen) -> str:
    """The screen as an SVG, without the last, empty prompt."""
    text = screen.text()
    text.right_crop(len(text.plain) - len(text.plain.rstrip(f"{PROMPT}\n")))
    console = Console(file=StringIO(), width=COLUMNS, record=True, force_terminal=True, legacy_windows=False)
    console.print(text, highlight=False)
    return console.export_svg(title="make chat", theme=MONOKAI, unique_id="chat")


if __name__ == "__main__":
    sys.exit(main())
