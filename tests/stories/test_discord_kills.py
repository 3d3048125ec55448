"""SIGKILL at random instants on Discord: every question has one answer, in order, and no partial message remains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.polling import until
from tests.servers.discord import Channel, DiscordServer, Message
from tests.servers.discord.faults import Kind
from tests.stories.databases import DRIVERS
from tests.stories.discord_bot import SEND, texts
from tests.stories.harness import OWNER, BotHarness, BotProcess, bot_harness, settled
from tests.stories.kills import TIMEOUT_SECONDS, SweepBase, answer

SEED = 20_251_122
MANY = 25
PEOPLE = ("alice", "bob")


class KillSweep(SweepBase):
    """Questions in private chats, a channel and a thread while the bot is killed."""

    def __init__(self, on: BotHarness, dc: DiscordServer, seed: int) -> None:
        super().__init__(on, seed)
        self.dc = dc
        self._asked: dict[Channel, list[str]] = {}
        self._thread = dc.thread("aside")
        self.begun = 0
        """Number of partially streamed messages left by the kills."""

    def ask(self, name: str) -> None:
        """Asks two questions in every chat."""
        for number in range(2):
            for person in PEOPLE:
                self._note(self.dc.say(f"{name}-{person}-{number}", user=person), f"{name}-{person}-{number}")
            for place, where in (("channel", self.dc.channel()), ("thread", self._thread)):
                text = f"{name}-{place}-{number}"
                self._note(self.dc.say(text, channel=where, mention=True), text)

    def _note(self, message: Message, text: str) -> None:
        self._asked.setdefault(message.channel, []).append(text)

    async def streaming(self, name: str) -> None:
        """Waits until the model has begun to answer one of these questions."""
        ms = self.on.ms
        await until(lambda: any(each.chunks_sent and each.last_user_text.startswith(f"{name}-") for each in ms.calls))

    async def delivered(self, name: str) -> None:
        """Waits until every question is in the inbox."""
        count = f"SELECT count(*) FROM inbox WHERE payload LIKE '%{name}-%'"
        await until(lambda: self.on.rows(count) == [(2 * len(self._asked),)])

    async def answered(self) -> None:
        """Waits until every question has its complete answer."""
        await self.dc.wait_for(lambda _: not self._unanswered(), TIMEOUT_SECONDS)

    def _unanswered(self) -> list[str]:
        return [each for chat, asked in self._asked.items() for each in asked if answer(each) not in texts(chat)]

    async def kill(self, bot: BotProcess, within: float) -> None:
        """Kills the bot at a random instant within this many seconds; the database must be intact."""
        await asyncio.sleep(self.random.uniform(0.0, within))
        await bot.kill()
        assert self.on.data.intact()
        self.begun += len(self.partial())

    def partial(self) -> list[str]:
        """The beginnings of answers that are not complete."""
        whole = {answer(each) for asked in self._asked.values() for each in asked}
        missing = {answer(each) for each in self._unanswered()}
        shown = [text for chat in self._asked for text in texts(chat) if text not in whole]
        return [text for text in shown if any(answer.startswith(text[:20]) for answer in missing)]

    async def check(self) -> None:
        """There are only the answers, each once and in the order of the questions."""
        await settled(self.on)
        for chat, asked in self._asked.items():
            assert texts(chat) == [answer(each) for each in asked], self.dc.transcript(chat)
        assert self.on.rows("SELECT count(*) FROM outbox WHERE state != 'sent'") == [(0,)]


Strike = Callable[[KillSweep, BotProcess, str], Awaitable[None]]


async def before_the_model_answers(sweep: KillSweep, bot: BotProcess, name: str) -> None:
    sweep.hold()
    sweep.ask(name)
    await sweep.delivered(name)
    await sweep.kill(bot, within=0.3)


async def in_mid_stream(sweep: KillSweep, bot: BotProcess, name: str) -> None:
    sweep.slow(seconds=60.0)
    sweep.ask(name)
    await sweep.streaming(name)
    await sweep.dc.wait_for(lambda _: sweep.partial())
    await sweep.kill(bot, within=2.4)


async def while_a_message_begins(sweep: KillSweep, bot: BotProcess, name: str) -> None:
    """Discord accepts a message, and the bot dies before it learns its id."""
    sweep.slow(seconds=2.5)
    kept = sweep.dc.fault(SEND, "hang_after", times=None)
    sweep.ask(name)
    await sweep.dc.wait_for(lambda _: kept.hits, TIMEOUT_SECONDS)
    await sweep.kill(bot, within=0.3)
    kept.clear()


async def between_answer_and_send(sweep: KillSweep, bot: BotProcess, name: str) -> None:
    """Discord withholds a response: of a message that arrived, or of one that did not."""
    sweep.quick()
    kinds: tuple[Kind, ...] = ("hang_after", "hang")
    refusals: tuple[Kind, ...] = ("rate_limit", "server_error")
    kept = [sweep.dc.fault(SEND, kind, skip=sweep.random.randrange(3)) for kind in kinds]
    kept.append(sweep.dc.fault(SEND, "slow", times=None, seconds=0.3))
    sweep.ask(name)
    await sweep.dc.wait_for(lambda _: all(fault.hits for fault in kept[:2]), TIMEOUT_SECONDS)
    await sweep.kill(bot, within=0.3)
    sweep.dc.clear_faults()
    sweep.dc.fault(SEND, sweep.random.choice(refusals), times=3)


STRIKES: tuple[Strike, ...] = (
    in_mid_stream,
    while_a_message_begins,
    between_answer_and_send,
    before_the_model_answers,
)


@asynccontextmanager
async def discord_alone(workspace: Path, driver: str) -> AsyncIterator[tuple[BotHarness, DiscordServer]]:
    async with bot_harness(workspace) as on, DiscordServer() as dc:
        dc.guild()
        on.env |= {"BOT_ACCESS": "open", "TELEGRAM_BOT_TOKEN": "", "BOT_OWNERS": f"discord:{OWNER}"}
        on.use(driver)
        on.env |= {"DISCORD_BOT_TOKEN": dc.token, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
        yield on, dc
        assert dc.violations == []


async def run_sweep(workspace: Path, driver: str, strikes: list[Strike], seed: int) -> KillSweep:
    """Repeats: start, finish the questions of the last process, ask, kill. Checks the result at the end."""
    print(f"seed {seed}")  # pytest shows it if the story fails
    async with discord_alone(workspace, driver) as (on, dc):
        sweep = KillSweep(on, dc, seed)
        for number, strike in enumerate(strikes):
            async with BotProcess(on) as bot:
                await dc.ready(TIMEOUT_SECONDS)
                sweep.quick()
                await sweep.answered()
                await strike(sweep, bot, f"q{number}")
        sweep.quick()
        async with BotProcess(on) as bot:
            await sweep.answered()
            await sweep.check()
            assert await bot.terminate() == 0
    return sweep


async def test_a_kill_on_discord_loses_nothing(tmp_path: Path) -> None:
    """Two bots in parallel, because a start uses seconds of one core, with a database driver each."""
    halves: tuple[list[Strike], ...] = ([in_mid_stream, while_a_message_begins], [between_answer_and_send])
    sweeps = zip(DRIVERS, halves, strict=True)
    each = (run_sweep(tmp_path / str(n), driver, half, SEED + n) for n, (driver, half) in enumerate(sweeps))
    ordeals = await asyncio.gather(*each)
    assert ordeals[0].begun, "at least one answer was partially streamed"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("strike", STRIKES)
async def test_many_kills_on_discord(tmp_path: Path, strike: Strike) -> None:
    half = [strike] * (MANY // 2)
    each = (run_sweep(tmp_path / str(n), driver, half, SEED + 2 + n) for n, driver in enumerate(DRIVERS))
    await asyncio.gather(*each)
