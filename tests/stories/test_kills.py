"""SIGKILL at random instants: every message is answered, once, in order, and the database stays sound."""

from collections.abc import Awaitable, Callable

import pytest

from tests.stories.harness import BotProcess, Stage
from tests.stories.killing import GROUP, Ordeal, answer

SEED = 20_251_121
KILLS = 8
MANY = 50

Strike = Callable[[Stage, Ordeal, BotProcess, str], Awaitable[None]]


async def endure(on: Stage, strike: Strike, kills: int, seed: int) -> Ordeal:
    """Start, answer what an earlier process left, ask anew, kill; at the end let everything be answered."""
    print(f"seed {seed}")  # pytest shows it when the story fails
    ordeal = Ordeal(on, seed)
    for number in range(kills):
        async with BotProcess(on) as bot:
            await ordeal.listening()
            await strike(on, ordeal, bot, f"q{number}")
    ordeal.quick()
    async with BotProcess(on) as bot:
        await ordeal.answered()
        assert await bot.terminate() == 0
    return ordeal


async def before_the_model_answers(on: Stage, ordeal: Ordeal, bot: BotProcess, name: str) -> None:
    """Every other process dies soon after its start, with the questions of the one before still open."""
    if int(name[1:]) % 2:
        await ordeal.kill(bot, within=1.5)
        return
    ordeal.quick()
    await ordeal.answered()
    ordeal.hold()
    ordeal.ask(name)
    await ordeal.delivered()
    await ordeal.kill(bot, within=0.3)


async def in_mid_stream(on: Stage, ordeal: Ordeal, bot: BotProcess, name: str) -> None:
    ordeal.quick()
    await ordeal.answered()
    ordeal.slow(seconds=2.5)
    ordeal.ask(name)
    await ordeal.streaming()
    await ordeal.kill(bot, within=2.4)


async def between_answer_and_send(on: Stage, ordeal: Ordeal, bot: BotProcess, name: str) -> None:
    """Telegram keeps its answer back: of a message that arrived, or of one that did not."""
    await ordeal.answered()
    kept = [on.tg.fault("sendMessage", kind, skip=ordeal.random.randrange(3)) for kind in ("hang_after", "hang")]
    kept.append(on.tg.fault("sendMessage", "slow", times=None, seconds=0.3))
    ordeal.ask(name)
    await on.tg.wait_for(lambda _: all(fault.hits for fault in kept[:2]), 60.0)
    await ordeal.kill(bot, within=0.3)
    on.tg.clear_faults()


async def test_killed_before_the_model_answered(on: Stage) -> None:
    ordeal = await endure(on, before_the_model_answers, KILLS, SEED)
    ordeal.check(marked=False)


async def test_killed_in_mid_stream(on: Stage) -> None:
    ordeal = await endure(on, in_mid_stream, KILLS, SEED)
    assert ordeal.placeholders > 0
    ordeal.check(marked=True)


async def test_killed_between_the_answer_and_the_send(on: Stage) -> None:
    ordeal = await endure(on, between_answer_and_send, KILLS, SEED)
    ordeal.check(marked=True)
    assert any(message.text.startswith("(recovered) ") for chat in on.tg.chats.values() for message in chat.from_bot())


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("strike", [before_the_model_answers, in_mid_stream, between_answer_and_send])
async def test_many_kills(on: Stage, strike: Strike) -> None:
    ordeal = await endure(on, strike, MANY, SEED + 1)
    ordeal.check(marked=strike is not before_the_model_answers)


async def test_a_half_streamed_message_becomes_the_answer(on: Stage) -> None:
    """In a group the answer grows in a message; the next process goes on in it, with no second one."""
    on.env |= {"BOT_ACCESS": "open"}
    gate = on.ms.reply(answer("this"), chunks=4, gate_after=2)
    async with BotProcess(on) as bot:
        said = on.tg.say("@tierbot this", group=GROUP)
        await gate.reached(60.0)
        half = await on.tg.reply(said)
        assert half.text != answer("this") and answer("this").startswith(half.text.rstrip(" …"))
        await on.tg.wait_for(lambda _: on.rows("SELECT placeholder FROM inbox") == [(str(half.id),)])
        await bot.kill()
    on.ms.reply(answer("this"))
    async with BotProcess(on) as bot:
        await on.tg.wait_for(lambda _: half.text == answer("this"), 30.0)
        await bot.terminate()
    assert said.chat.from_bot() == [half]
    assert half.reply_to is said


async def test_an_album_across_a_kill_is_one_question(on: Stage) -> None:
    """The pictures of an album are gathered again after the restart and asked together."""
    gate = on.ms.gate("never said")
    async with BotProcess(on) as bot:
        on.tg.send_album([b"\x89PNG one", b"\x89PNG two"], caption="compare")
        await gate.reached(60.0)
        await bot.kill()
    on.ms.reply("They differ.")
    async with BotProcess(on) as bot:
        assert (await on.tg.reply(timeout=30.0)).text == "They differ."
        await bot.terminate()
    assert len(on.ms.calls) == 2
    assert len(on.tg.private().from_bot()) == 1


async def test_a_message_that_kills_is_given_up_and_can_be_asked_again(on: Stage) -> None:
    """Three processes died over it: the fourth says so instead of dying, and keeps the question for /retry."""
    on.tg.say("poison")
    for _ in range(3):
        gate = on.ms.gate("never said")
        async with BotProcess(on) as bot:
            await gate.reached(60.0)
            await bot.kill()
    async with BotProcess(on) as bot:
        given_up = await on.tg.reply(timeout=30.0)
        assert "interrupted 3 times" in given_up.text
        assert len(on.ms.calls) == 3
        on.ms.reply("Cured.")
        on.tg.press("🔁 Retry", message=given_up)
        assert (await on.tg.reply(after=given_up, timeout=30.0)).text == "Cured."
        assert on.ms.last.last_user_text == "poison"
        await bot.terminate()
