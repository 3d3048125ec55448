"""How a piped conversation and its process end."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from bot.platform import SendLater
from routing.errors import StorageFault
from tests.bot.adapters.console.fake_bot import FakeBot
from tests.bot.adapters.console.pipes import Ends, talk, talking
from tests.polling import until

ROOT = Path(__file__).resolve().parents[4]


async def test_an_unreadable_input_is_reported(ends: Ends, history: Path, tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)

    class Folder(StringIO):
        def fileno(self) -> int:
            return folder

    assert await talk(FakeBot(), ends, history, Folder()) == 1
    os.close(folder)
    assert ends.stderr_text() == "The input can't be read (Is a directory).\n"


async def test_a_closed_stdout_ends_it_quietly(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    ends.drop(ends.reading)
    ends.type(b"one\ntwo\n")
    assert await talk(fake_bot, ends, history) == 0
    (failure,) = fake_bot.failures
    assert isinstance(failure, SendLater)
    assert failure.maybe_sent
    assert fake_bot.texts == ["one"]
    assert ends.stderr_text() == ""


async def test_a_line_that_cannot_be_saved_ends_the_pipe(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    fake_bot.fault = StorageFault("the disk is full.")
    ends.type(b"one\ntwo\n")
    assert await talk(fake_bot, ends, history) == 1
    assert ends.printed() == ""
    assert ends.stderr_text() == "Your message could not be saved (the disk is full). Please send it again.\n"


async def test_stopping_ends_it_though_the_input_stays_open(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot()
    async with talking(fake_bot, ends, history) as running:
        await fake_bot.platform.stop_receiving()
        assert await running == 0


async def test_a_stopped_run_still_prints_the_reply_under_way(ends: Ends, history: Path) -> None:
    fake_bot = FakeBot(lambda _: None)
    async with talking(fake_bot, ends, history) as running:
        os.write(ends.typing, b"one\ntwo\n")
        await until(lambda: bool(fake_bot.messages))
        await fake_bot.platform.stop_receiving()
        assert await running == 0
        await fake_bot.reply(fake_bot.messages[0], "late")
    assert fake_bot.texts == ["one"]
    assert ends.printed() == "late\n\n"


def _python(script: str, stdin: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=ROOT, stdin=stdin, capture_output=True, text=True, timeout=60, check=False)


def test_the_prompts_libraries_are_left_alone() -> None:
    script = """
import sys
import bot.adapters.console
print([name for name in ("prompt_toolkit", "rich", "markdown_it", "pygments") if name in sys.modules])
"""
    assert _python(script, subprocess.DEVNULL).stdout == "[]\n"


def test_a_process_ends_though_its_input_stays_open(ends: Ends) -> None:
    script = """
import asyncio, sys, time
from pathlib import Path
from bot.adapters.console import ConsolePlatform, PromptOptions, ConsoleUser, Streams

async def main():
    arrived = asyncio.Event()
    async def accept(messages):
        arrived.set()
    platform = ConsolePlatform(ConsoleUser("ann", time.time), accept, Streams(sys.stdin, sys.stdout, sys.stderr),
        PromptOptions(Path("unused")))
    await platform.start()
    running = asyncio.create_task(platform.run())
    await arrived.wait()
    await platform.stop_receiving()
    code = await running
    await platform.close()
    return code

sys.exit(asyncio.run(main()))
"""
    os.write(ends.typing, b"one\n")
    ended = _python(script, ends.stdin)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
