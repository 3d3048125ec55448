"""Twenty chats while three calls in ten fail, on both platforms and at the models, and checks on every answer."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pytest

from bot.adapters.telegram.settings import Pace
from routing.types.tiers import TIERS
from tests.fakes import ShiftedClock
from tests.servers.discord import Channel, DiscordServer
from tests.servers.discord.faults import Kind as DiscordKind
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Failure, Script
from tests.servers.telegram import Chat
from tests.servers.telegram.faults import Kind as TelegramKind
from tests.stories.discord_bot import HURRIED, SEND, up
from tests.stories.harness import BotHarness, BotProcess, running, settled
from tests.stories.kills import answer
from tests.stories.vendors import DEADLINE, vendors

SEED = 20_261_122
ROUNDS = 15
QUICK = {
    tier: {"deadlineSeconds": 20.0 + at, "trySeconds": 10.0, "firstTokenSeconds": 9.0} for at, tier in enumerate(TIERS)
}
SHARE = 0.3
"""The share of all calls that fail."""
OUTAGE_SECONDS = 60.0
"""Seconds for repeated deliveries after the deadline of a turn."""
KILLED_ROUNDS = 6
KILLED_OUTAGE_SECONDS = 300.0
"""The same with the waits of real platforms, and two starts."""
MARK = "(recovered)"
PARKED = "may be missing or duplicated"
APOLOGIES = ("⚠️", "⏱", "⏳", "✂️")
TELEGRAM_KINDS: tuple[TelegramKind, ...] = (
    *("too_many", "server_error", "drop_before", "drop_after", "hang_after", "hang", "drip"),
)
METHODS = ("sendMessage", "editMessageText", "sendMessageDraft", "sendChatAction", "getUpdates")
DISCORD_KINDS: tuple[DiscordKind, ...] = (
    *("rate_limit", "server_error", "drop", "drop_after", "hang_after", "hang", "error_after", "drip"),
)
CALLS = (SEND, "PATCH /channels/*/messages/*")


@dataclass
class Line:
    """One chat: how its person sends messages, the bot's texts, and the questions."""

    say: Callable[[str], object]
    bot_texts: Callable[[], Sequence[str]]
    asked: list[str] = field(default_factory=list)

    def answers(self) -> list[str]:
        """The bot's answers to the questions, once each. A repetition counts only without a mark."""
        found: list[str] = []
        for text in self.bot_texts():
            if text.endswith(" …") or PARKED in text:
                continue
            plain = text.removeprefix(MARK).strip()
            if not plain or (text.startswith(MARK) and plain in found[-1:]):
                continue
            found.append(plain)
        return found

    def parked(self) -> int:
        """Number of answers given up because no delivery was confirmed; the person got a notice."""
        return sum(PARKED in text for text in self.bot_texts())


def unreliable_model(random: Random) -> Callable[[ModelRequest], Script]:
    """A model that fails three times in ten with errors, broken connections or silence, and is otherwise fast or
    slow."""

    def reply(request: ModelRequest) -> Script:
        if random.random() < SHARE:
            failed = Script(fault="status", failure=Failure(503, "overloaded"))
            return random.choice([failed, Script(fault="reset"), Script(fault="hang", hang_seconds=30.0)])
        return Script(text=answer(request.last_user_text), chunks=10, delay=random.choice([0.0, 0.1]))

    return reply


def faulty(on: BotHarness, dc: DiscordServer, random: Random) -> None:
    """From now on three calls in ten fail, in all ways."""

    def by_chance(kinds: int) -> Callable[[object], bool]:
        each = 1 - (1 - SHARE) ** (1 / kinds)
        return lambda _: random.random() < each

    for method in METHODS:
        for kind in TELEGRAM_KINDS:
            seconds = 0.05 if kind == "drip" else 2.0
            on.tg.fault(method, kind, times=None, seconds=seconds, when=by_chance(len(TELEGRAM_KINDS)))
    for call in CALLS:
        for name in DISCORD_KINDS:
            seconds = 0.05 if name == "drip" else 2.0
            dc.fault(call, name, times=None, seconds=seconds, retry_after=0.5, when=by_chance(len(DISCORD_KINDS)))


def texts(chat: Chat | Channel) -> list[str]:
    return [message.text for message in chat.from_bot()]


def lines(on: BotHarness, dc: DiscordServer) -> list[Line]:
    """Sixteen private chats, two groups, a channel and a thread."""
    made: list[Line] = []
    for number in range(8):
        name = f"person{number}"
        made.append(Line(partial(on.tg.say, user=name), partial(texts, on.tg.private(name))))
        made.append(Line(partial(dc.say, user=name), partial(texts, dc.dm(name))))
    for title in ("Team", "Club"):
        say = partial(on.tg.say, user="alice", group=title)
        made.append(Line(partial(_mentioning, say), partial(texts, on.tg.group(title))))
    for channel in (dc.channel(), dc.thread("aside")):
        made.append(Line(partial(dc.say, channel=channel, mention=True), partial(texts, channel)))
    return made


def _mentioning(say: Callable[[str], object], text: str) -> None:
    say(f"@tierbot {text}")


class Campaign:
    """Questions in every chat, round by round, and checks on their answers."""

    def __init__(self, on: BotHarness, dc: DiscordServer, patience: float) -> None:
        """`patience`: maximum seconds until a round is answered."""
        self.random = Random(SEED)
        self._on = on
        self._dc = dc
        self._patience = patience
        self._chats = lines(on, dc)
        self._rounds = 0
        self._began = self._longest = 0.0
        print(f"seed {SEED}")  # pytest shows it if the story fails

    def begin(self) -> None:
        """Asks two questions in every chat."""
        self._began = time.monotonic()
        for at, line in enumerate(self._chats):
            for part in "ab":
                line.asked.append(f"r{self._rounds}c{at}{part}")
                line.say(line.asked[-1])
        self._rounds += 1

    async def answered(self) -> None:
        """Waits for the round's answers."""
        while (left := self._missing()) and time.monotonic() < self._began + self._patience:
            await self._on.tg.wait_for_change(0.2)
        assert not left, (left, self._on.rows("SELECT id, chat_id, state, error FROM outbox WHERE state != 'sent'"))
        took = time.monotonic() - self._began
        self._longest = max(self._longest, took)
        print(f"round {self._rounds - 1}: {took:.0f} s")

    def _missing(self) -> list[str]:
        counts = [(line, len(line.answers()) + line.parked()) for line in self._chats]
        return [line.asked[count] for line, count in counts if count < len(line.asked)]

    async def end(self) -> None:
        """Stops all faults and waits until nothing is left to send."""
        self._on.tg.clear_faults()
        self._dc.clear_faults()
        await settled(self._on)

    def check(self) -> None:
        """Each question has one answer or one apology, in order."""
        repeated = [each for each in self._on.tg.violations if "message is not modified" in each.description]
        for each in repeated:  # an edit whose response was lost
            self._on.tg.violations.remove(each)
        halves = marked = sorry = parked = 0
        for line in self._chats:
            given, lost = deque(line.answers()), line.parked()
            parked += lost
            for question in line.asked:
                # An unanswered question is included in the next request.
                first = given[0].partition("\n")[0] if given else ""
                complete = f"{question}. " in f"{first} "
                apology = any(sign in text for text in list(given)[:1] for sign in APOLOGIES)
                if complete or apology:
                    given.popleft()
                    sorry += not complete
                else:
                    assert lost, (question, given)
                    lost -= 1
            assert not given, (line.asked, given)
            halves += sum(text.endswith(" …") for text in line.bot_texts())
            marked += sum(text.startswith(MARK) for text in line.bot_texts())
        asked = sum(len(line.asked) for line in self._chats)
        print(f"{asked} questions, {sorry} answered with an apology, {marked} marked, {parked} parked, {halves} halves")
        print(f"the longest round {self._longest:.0f} s")


@pytest.mark.slow
@pytest.mark.timeout(1500)
async def test_a_campaign_of_faults_and_clock_jumps(
    on: BotHarness, dc: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, duplicated without a mark or out of order, and no question waits forever."""
    quick = Pace(backoff=0.05, longest_backoff=0.2, answer=1.0, connect=0.5, preview_after=0.2, group_gap=0.5)
    monkeypatch.setattr("bot.adapters.telegram.descriptor.Pace", lambda: quick)
    monkeypatch.setattr("bot.adapters.discord.descriptor.Pace", lambda: HURRIED)
    monkeypatch.setattr("bot.adapters.shared.outbound.AMBIGUOUS_SECONDS", 0.5)
    vendors(on, **QUICK)
    on.env |= {"BOT_ACCESS": "open"}
    campaign, clock = Campaign(on, dc, 2 * max(DEADLINE.values()) + OUTAGE_SECONDS), ShiftedClock()
    on.ms.default = unreliable_model(campaign.random)
    async with running(on, clock, time.monotonic) as app:
        await up(dc, app)
        faulty(on, dc, campaign.random)
        for _ in range(ROUNDS):
            campaign.begin()
            await asyncio.sleep(campaign.random.uniform(0, 2))
            clock.ahead = campaign.random.choice((-7200.0, -60.0, 0.0, 60.0, 7200.0, 86_400.0))
            await campaign.answered()
        await campaign.end()
    campaign.check()


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_a_campaign_of_faults_and_kills(on: BotHarness, dc: DiscordServer) -> None:
    """The same with a process that is killed at a random instant of each round, with the waits of real platforms."""
    vendors(on, **QUICK)
    on.env |= {"BOT_ACCESS": "open"}
    campaign = Campaign(on, dc, 2 * max(DEADLINE.values()) + KILLED_OUTAGE_SECONDS)
    on.ms.default = unreliable_model(campaign.random)
    for number in range(KILLED_ROUNDS):
        async with BotProcess(on) as bot:
            if not number:
                await dc.ready()
                faulty(on, dc, campaign.random)
            campaign.begin()
            await asyncio.sleep(campaign.random.uniform(0, 12))
            await bot.kill()
            assert on.data.intact()
        async with BotProcess(on) as bot:
            await campaign.answered()
            if number == KILLED_ROUNDS - 1:
                await campaign.end()
            await bot.kill()
    campaign.check()
