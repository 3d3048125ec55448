"""SIGTERM: running turns get a grace period, others continue after the next start; exit code 0."""

import asyncio
import signal
import time
from pathlib import Path

import pytest

from bot.adapters.telegram.settings import Pace
from tests.polling import until
from tests.stories.harness import BotHarness, BotProcess
from tests.stories.test_order import texts


async def test_a_running_turn_gets_a_grace_period(on: BotHarness) -> None:
    """An answer within the grace period is sent before the process ends; no new messages are accepted."""
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with BotProcess(on) as bot:
        on.tg.say("count")
        await gate.reached(60.0)
        waits = on.tg.say("next")
        await on.tg.wait_for(lambda _: waits.emoji)
        bot.signal(signal.SIGTERM)
        await until(lambda: "Stopping" in bot.log)
        await on.tg.wait_for(lambda tg: not tg.updates.is_polled)
        on.tg.say("late")
        gate.open()
        assert await bot.ended() == 0
    assert texts(on) == ["one two three four"]
    async with BotProcess(on) as bot:
        assert [each.text for each in (await on.tg.reply(count=3))[1:]] == [
            "You said: next",
            "You said: late",
        ]
        assert await bot.terminate() == 0
    assert texts(on) == ["one two three four", "You said: next", "You said: late"]
    assert [call.last_user_text for call in on.ms.calls] == ["count", "next", "late"]


async def test_a_turn_longer_than_the_grace_is_resumed_and_answered_once(on: BotHarness) -> None:
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with BotProcess(on, constants={"bot.app.GRACE_SECONDS": 0.5}) as bot:
        on.tg.say("count")
        await gate.reached(60.0)
        assert await bot.terminate() == 0
    assert texts(on) == []
    on.ms.reply("one two three four")
    async with BotProcess(on) as bot:
        assert (await on.tg.reply()).text == "one two three four"
        assert await bot.terminate() == 0
    assert texts(on) == ["one two three four"]
    assert [call.last_user_text for call in on.ms.calls] == ["count", "count"]


@pytest.mark.slow
async def test_a_reply_pending_at_the_stop_is_sent_after_the_restart(on: BotHarness) -> None:
    """Telegram's retry_after exceeds the grace period: the reply did not arrive, so it is sent without a mark."""
    flood = on.tg.fault("sendMessage", "too_many", retry_after=12, times=None)
    async with BotProcess(on) as bot:
        on.tg.say("hello")
        await on.tg.wait_for(lambda _: flood.hits, 30.0)
        assert await bot.terminate() == 0
    assert texts(on) == []
    flood.clear()
    async with BotProcess(on) as bot:
        assert (await on.tg.reply()).text == "You said: hello"
        assert await bot.terminate() == 0
    assert len(on.ms.calls) == 1


async def test_an_idle_bot_ends_at_once_at_either_signal(on: BotHarness) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        async with BotProcess(on) as bot:
            await on.tg.wait_for(lambda tg: tg.updates.is_polled, 30.0)
            bot.signal(number)
            assert await bot.ended() == 0
            assert "Traceback" not in bot.log


FOREVER = 3600.0
"""Seconds that no test can take."""


def patient() -> Pace:
    """Never gives up on an answer from Telegram."""
    return Pace(answer=FOREVER)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_start_that_waits_for_telegram_is_stopped(on: BotHarness, number: signal.Signals) -> None:
    hanging = on.tg.fault("*", "hang", times=None, seconds=FOREVER)
    on.tg.say("hello")
    waits = {"bot.adapters.shared.connection.FIRST_SECONDS": FOREVER, "bot.adapters.telegram.descriptor.Pace": patient}
    async with BotProcess(on, constants=waits) as bot:
        await on.tg.wait_for(lambda _: hanging.hits, 30.0)
        bot.signal(number)
        assert await bot.ended() == 0
        assert "Traceback" not in bot.log
    hanging.clear()
    async with BotProcess(on) as bot:
        assert (await on.tg.reply()).text == "You said: hello"
        assert await bot.terminate() == 0


async def test_a_start_that_waits_for_ollama_is_stopped(on: BotHarness) -> None:
    asked, end = asyncio.Event(), asyncio.Event()

    async def never_answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await end.wait()
        writer.close()

    on.tg.say("hello")
    async with await asyncio.start_server(never_answer, "127.0.0.1") as ollama:
        on.config["llm"] = {}
        env = {"OPENAI_API_KEY": "", "OLLAMA_HOST": f"127.0.0.1:{ollama.sockets[0].getsockname()[1]}"}
        async with BotProcess(on, env=env, constants={"bot.keyless.FIRST_TIMEOUT_SECONDS": FOREVER}) as bot:
            async with asyncio.timeout(60):
                await asked.wait()
            assert await bot.terminate() == 0
            assert "Traceback" not in bot.log
        end.set()
    assert len(on.tg.updates.pending) == 1


def migrate_forever(_url: str, backups: Path) -> None:
    """A migration that never ends by itself. Runs in the bot's process. It polls, because `signal.pause` would miss a
    signal that arrives just before it."""
    (backups / "reached").touch()
    while True:
        time.sleep(0.01)


async def test_a_start_that_migrates_is_stopped(on: BotHarness) -> None:
    async with BotProcess(on, constants={"storage.database.migrate.migrate": migrate_forever}) as bot:
        await until((on.workspace / "backups" / "reached").exists)
        assert await bot.terminate() == 0
        assert "Traceback" not in bot.log
    async with BotProcess(on) as bot:
        on.tg.say("hello")
        assert (await on.tg.reply()).text == "You said: hello"
        assert await bot.terminate() == 0
