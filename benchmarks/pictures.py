"""The pictures of the README: `python -m benchmarks.pictures` writes docs/day.svg and docs/usage.png.

The chat is the transcript of tests/stories/day.py, in which only the model and the forecast are scripted.
The chart is what `/usage 14d` sends, drawn by the same code from made-up amounts.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Literal

from rich.align import Align
from rich.console import Console
from rich.padding import Padding
from rich.terminal_theme import MONOKAI
from rich.text import Text

from handlers.languages import Say
from handlers.replies.charts import usage_chart
from routing.types.usage import Day, Spending
from tests.stories.day import Entry, morning, spend
from tests.stories.harness import bot_harness
from tests.stories.mailboxes import mail_servers

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLUMNS, BUBBLE = 90, 66
"""Widths of the chat and of a message."""
PERSON, BOT, BUTTON = "white on #2b5278", "white on #3a3d44", "white on #5b6170"
MODELS = ("anthropic/claude-sonnet-4-5", "openai/gpt-5.1", "gemini/gemini-2.5-flash", "ollama/qwen2.5:3b")
CENTS = ((31, 18, 4), (12, 25, 6), (0, 9, 3), (44, 30, 7), (52, 21, 5), (27, 33, 9), (8, 14, 2))
"""A week of made-up amounts, in cents, of all models but the last, which costs nothing."""


def main() -> int:
    """Write both files; says which."""
    argparse.ArgumentParser("benchmarks.pictures", description=__doc__).parse_args()
    (DOCS / "day.svg").write_text(drawn(asyncio.run(day())), encoding="utf-8")
    (DOCS / "usage.png").write_bytes(usage_chart(days(date(2026, 11, 22), 14), Say("en")))
    print(f"{DOCS / 'day.svg'}\n{DOCS / 'usage.png'}")
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


async def day() -> list[Entry]:
    """The transcript of the story, without its test."""
    with tempfile.TemporaryDirectory() as folder, mail_servers() as mailbox:
        async with bot_harness(Path(folder) / "workspace") as on, morning(on, mailbox) as life:
            await spend(life)
            return list(life.transcript())


def drawn(transcript: Iterable[Entry]) -> str:
    """A chat as an SVG: the person's messages on the right, the bot's on the left."""
    console = Console(file=StringIO(), width=COLUMNS, record=True, force_terminal=True, legacy_windows=False)
    time = ""
    for entry in transcript:
        if entry.time != time:
            time = entry.time
            console.print(Text(time, style="bright_black"), justify="center", highlight=False)
        side: Literal["left", "right"] = "left" if entry.from_bot else "right"
        file = Text(f"📄 {entry.file}\n" if entry.file else "", style="bold")
        console.print(Align(_bubble(file + Text(entry.text), BOT if entry.from_bot else PERSON), side))
        if entry.buttons:
            row = Text(" ").join(Text(f" {each} ", style=BUTTON) for each in entry.buttons)
            console.print(Align(row, side))
        console.print()
    return console.export_svg(title="Telegram", theme=MONOKAI, unique_id="day")


def _bubble(text: Text, style: str) -> Padding:
    lines = text.wrap(Console(width=COLUMNS), BUBBLE)
    return Padding(Text("\n").join(lines), (0, 1), style=style, expand=False)


if __name__ == "__main__":
    sys.exit(main())
