"""SIGKILL at random instants: every message is answered once, in order, and the database stays intact."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.inbox.inbox import Inbox
from tests.polling import until
from tests.stories.databases import DRIVERS
from tests.stories.harness import BotHarness, BotProcess, bot_harness, running
from tests.stories.kills import GROUP, KillSweep, answer

SEED = 20_251_121
KILLS = 2
MANY = 50
POWER = pytest.mark.sqlite_only("what its file loses")

Strike = Callable[[BotHarness, KillSweep, BotProcess, str], Awaitable[None]]


async def run_sweep(
    workspace: Path,
    strike: Strike,
    kills: int,
    seed: int,
    drivers: tuple[str, str] = DRIVERS,
    power_cuts: bool = False,
) -> list[KillSweep]:
    """Two bots in parallel with half of the kills each, because a start uses seconds of one core. `drivers` are
    their database drivers."""

    async def run(number: int, driver: str) -> KillSweep:
        async with bot_harness(workspace / str(number)) as on:
            sweep = KillSweep(on, seed + number, driver, power_cuts)
            await _run_sweep(on, sweep, strike, kills // 2)
        return sweep

    print(f"seed {seed}")  # pytest shows it if the story fails
    return await asyncio.gather(*(run(number, driver) for number, driver in enumerate(drivers)))


async def _run_sweep(on: BotHarness, sweep: KillSweep, strike: Strike, kills: int) -> None:
    """Repeats: start, finish the questions of the last process, ask, kill. At the end everything must be answered."""
    for number in range(kills):
        async with BotProcess(on, constants=sweep.constants) as bot:
            await sweep.listening()
            await strike(on, sweep, bot, f"q{number}")
    sweep.quick()
    async with BotProcess(on) as bot:
        await sweep.listening()
        await sweep.answered()
        await sweep.recorded()
        assert await bot.terminate() == 0
    sweep.check(marked=strike is not before_the_model_answers)
    print(f"{kills} kills, {sweep.questions} questions, {sweep.recovered} marked, {sweep.placeholders} partial")


async def before_the_model_answers(on: BotHarness, sweep: KillSweep, bot: BotProcess, name: str) -> None:
    """Every other process dies soon after its start, with the previous one's questions still open."""
    if int(name[1:]) % 2:
        await sweep.kill(bot, within=1.5)
        return
    sweep.quick()
    await sweep.answered()
    await sweep.recorded()  # otherwise an answer may be repeated with the mark
    sweep.hold()
    sweep.ask(name)
    await sweep.delivered()
    await sweep.kill(bot, within=0.3)


async def in_mid_stream(on: BotHarness, sweep: KillSweep, bot: BotProcess, name: str) -> None:
    """Every other process dies once it knows the message that is being streamed, however busy the machine is."""
    sweep.quick()
    await sweep.answered()
    sweep.slow(seconds=60.0)
    sweep.ask(name)
    await sweep.streaming()
    if int(name[1:]) % 2 == 0:
        await until(lambda: on.rows("SELECT id FROM inbox WHERE state = 'waiting' AND placeholder != ''"))
    await sweep.kill(bot, within=2.4)


async def between_answer_and_send(on: BotHarness, sweep: KillSweep, bot: BotProcess, name: str) -> None:
    """Telegram withholds a response: of a message that arrived, or of one that did not. The next process's first sends
    are refused."""
    await sweep.answered()
    kept = [on.tg.fault("sendMessage", kind, skip=sweep.random.randrange(3)) for kind in ("hang_after", "hang")]
    kept.append(on.tg.fault("sendMessage", "slow", times=None, seconds=0.3))
    sweep.ask(name)
    await on.tg.wait_for(lambda _: all(fault.hits for fault in kept[:2]), 60.0)
    await sweep.kill(bot, within=0.3)
    on.tg.clear_faults()
    on.tg.fault("sendMessage", sweep.random.choice(["too_many", "server_error"]), times=3)


async def at_any_instant(on: BotHarness, sweep: KillSweep, bot: BotProcess, name: str) -> None:
    """While messages arrive, are answered and sent; every third process dies while it resumes these turns."""
    if int(name[1:]) % 3 == 1:
        await sweep.kill(bot, within=1.5)
        return
    sweep.quick()
    await sweep.answered()
    sweep.slow(seconds=1.0)
    sweep.ask(name)
    await sweep.kill(bot, within=3.0)


STRIKES = (before_the_model_answers, in_mid_stream, between_answer_and_send)


async def test_a_kill_before_the_answer(tmp_path: Path) -> None:
    await run_sweep(tmp_path, before_the_model_answers, KILLS, SEED)


async def test_a_kill_mid_stream(tmp_path: Path) -> None:
    ordeals = await run_sweep(tmp_path, in_mid_stream, KILLS, SEED)
    assert any(sweep.placeholders for sweep in ordeals)


async def test_a_kill_between_answer_and_send(tmp_path: Path) -> None:
    ordeals = await run_sweep(tmp_path, between_answer_and_send, KILLS, SEED)
    assert all(sweep.recovered for sweep in ordeals)


@POWER
@pytest.mark.parametrize(
    "strike", [between_answer_and_send, *(pytest.param(each, marks=pytest.mark.slow) for each in STRIKES[:2])]
)
async def test_a_power_cut_costs_what_a_kill_does(tmp_path: Path, strike: Strike) -> None:
    """What is acted on is on disk: nothing is lost, and only a reply whose delivery was not stored is repeated."""
    await run_sweep(tmp_path, strike, KILLS, SEED + 4, power_cuts=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("power_cuts", [False, pytest.param(True, marks=POWER)], ids=["kills", "power cuts"])
@pytest.mark.parametrize("strike", STRIKES)
@pytest.mark.parametrize("driver", dict.fromkeys(DRIVERS))
async def test_many_kills(tmp_path: Path, driver: str, strike: Strike, power_cuts: bool) -> None:
    await run_sweep(tmp_path, strike, MANY, SEED + 2, (driver, driver), power_cuts)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(SEED + 6, SEED + 14, 2))
@pytest.mark.parametrize("driver", dict.fromkeys(DRIVERS))
async def test_many_kills_at_any_instant(tmp_path: Path, driver: str, seed: int) -> None:
    """200 for each driver."""
    await run_sweep(tmp_path, at_any_instant, MANY, seed, (driver, driver))


async def test_a_half_streamed_message_becomes_the_answer(on: BotHarness) -> None:
    """In a group the answer is streamed into a message, which the next process continues."""
    on.env |= {"BOT_ACCESS": "open"}
    gate = on.ms.reply(answer("this"), chunks=4, gate_after=2)
    async with BotProcess(on) as bot:
        question = on.tg.say("@tierbot this", group=GROUP)
        await gate.reached(60.0)
        half = await on.tg.reply(question)
        assert half.text != answer("this")
        assert answer("this").startswith(half.text.rstrip(" …"))
        await until(lambda: on.rows("SELECT placeholder FROM inbox") == [(str(half.id),)])
        await bot.kill()
    on.ms.reply(answer("this"))
    async with BotProcess(on) as bot:
        await on.tg.wait_for(lambda _: half.text == answer("this"), 30.0)
        await bot.terminate()
    assert question.chat.from_bot() == [half]
    assert half.reply_to is question


async def test_an_album_split_by_a_kill_is_one_question(on: BotHarness) -> None:
    """The pictures of an album are joined again after the restart."""
    gate = on.ms.gate("never said")
    async with BotProcess(on) as bot:
        on.tg.say_photo(b"one", caption="compare", media_group="a")
        on.tg.say_photo(b"two", media_group="a")
        await gate.reached(60.0)
        await bot.kill()
    on.ms.reply("They differ.")
    async with BotProcess(on) as bot:
        assert (await on.tg.reply()).text == "They differ."
        await bot.terminate()
    assert len(on.ms.calls) == 2
    assert json.dumps(on.ms.last.body).count("image_url") == json.dumps(on.ms.calls[0].body).count("image_url") > 1
    assert len(on.tg.private().from_bot()) == 1


async def test_a_message_that_crashes_the_bot_is_given_up_and_can_be_retried(on: BotHarness) -> None:
    """After three crashes the fourth process reports the message instead, and keeps it for /retry."""
    on.tg.say("poison")
    for _ in range(3):
        gate = on.ms.gate("never said")
        async with BotProcess(on) as bot:
            await gate.reached(60.0)
            await bot.kill()
    async with BotProcess(on) as bot:
        given_up = await on.tg.reply()
        assert "interrupted 3 times" in given_up.text
        assert len(on.ms.calls) == 3
        on.ms.reply("Cured.")
        on.tg.press("🔁 Retry", message=given_up)
        assert (await on.tg.reply(after=given_up)).text == "Cured."
        assert on.ms.last.last_user_text == "poison"
        await bot.terminate()


async def test_only_messages_of_earlier_processes_count_as_tried(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message may arrive before the bot has resumed, and is then read from the store."""
    resume = Inbox.resume

    async def resume_late(inbox: Inbox) -> None:
        await until(lambda: on.rows("SELECT id FROM inbox"))
        await resume(inbox)

    monkeypatch.setattr(Inbox, "resume", resume_late)
    gate = on.ms.gate("hello")
    on.tg.say("hi")
    async with running(on):
        await gate.reached(60.0)
        assert on.rows("SELECT attempts FROM inbox") == [(0,)]
        gate.open()
        assert (await on.tg.reply()).text == "hello"
