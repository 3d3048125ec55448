"""`make chat` works while the bot runs, with the same models and separate conversations."""

from __future__ import annotations

from tests.stories.forked_cli import forked
from tests.stories.harness import BotHarness, BotProcess, ask


async def test_a_terminal_beside_the_running_bot_answers(on: BotHarness) -> None:
    async with BotProcess(on) as bot:
        await ask(on, "hello")
        async with forked("chat", "--as", "ann", env=on.environment()) as terminal:
            code, stdout, stderr = await terminal.ended(b"good morning\n")
        assert code == 0, stderr
        assert stdout == "You said: good morning\n\n"
        assert "The bot is already running in" in stderr
        assert (await ask(on, "still there?")).text == "You said: still there?"
        assert await bot.terminate() == 0
    assert on.rows("select count(*) from chats where platform = 'console'") == [(0,)]
