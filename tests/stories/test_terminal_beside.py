"""`make chat` works while the bot runs: the same models, its own conversations."""

from __future__ import annotations

import asyncio
import os
import sys

from tests.stories.harness import ROOT, BotProcess, Stage, ask


async def test_a_terminal_beside_the_running_bot_answers(on: Stage) -> None:
    async with BotProcess(on) as bot:
        await ask(on, "hello")
        terminal = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "chat", "--as", "ann",
            cwd=ROOT, env={"PATH": os.environ["PATH"], **on.environment()},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(60):
            said, complaint = await terminal.communicate(b"good morning\n")
        assert terminal.returncode == 0, complaint.decode()
        assert said.decode() == "You said: good morning\n\n"
        assert "The bot is already running in" in complaint.decode()
        assert (await ask(on, "still there?")).text == "You said: still there?"
        assert await bot.terminate() == 0
    assert on.rows("select count(*) from chats where platform = 'console'") == [(0,)]
