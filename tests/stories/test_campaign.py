"""Twenty chats while three calls in ten fail, on both platforms and at the models: what must hold of every answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pytest

from bot.adapters.discord import DiscordOptions
from bot.adapters.telegram import TelegramOptions
from bot.adapters.telegram.options import Pace
from tests.servers.discord import Channel, DiscordServer
from tests.servers.discord.faults import Kind as DiscordKind
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Failure, Script
from tests.servers.telegram import Chat
from tests.servers.telegram.faults import Kind as TelegramKind
from tests.stories.discording import HURRIED, SEND, up
from tests.stories.discording import settled as finished
from tests.stories.failing import DEADLINE, vendors
from tests.stories.harness import Stage, running
from tests.stories.killing import answer

SEED = 20_261_122
ROUNDS = 15
SHARE = 0.3
"""Of all calls, these fail."""
OUTAGE_SECONDS = 60.0
"""What the repetitions of a reply may take beyond the deadline of its turn."""
MARK = "(recovered)"
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
    """One chat: how somebody speaks there, what the bot said, and what was asked."""

    say: Callable[[str], object]
    heard: Callable[[], Sequence[str]]
    asked: list[str] = field(default_factory=list)

    def answers(self) -> list[str]:
        """What the bot said to the questions, once each. A copy counts only when it has no mark."""
        found: list[str] = []
        for text in self.heard():
            if text.endswith(" …") or "may be missing or doubled" in text:
                continue
            plain = text.removeprefix(MARK).strip()
            if not plain or (text.startswith(MARK) and plain in found[-1:]):
                continue
            found.append(plain)
        return found


def moody(random: Random) -> Callable[[ModelRequest], Script]:
    """A model that fails three times in ten: errors, broken connections, silence; else it answers, fast or slowly."""

    def reply(request: ModelRequest) -> Script:
        if random.random() < SHARE:
            failed = Script(fault="status", failure=Failure(503, "overloaded"))
            return random.choice([failed, Script(fault="reset"), Script(fault="hang", hang_seconds=30.0)])
        return Script(text=answer(request.last_user_text), chunks=10, delay=random.choice([0.0, 0.1]))

    return reply


def faulty(on: Stage, dc: DiscordServer, random: Random) -> None:
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


def lines(on: Stage, dc: DiscordServer) -> list[Line]:
    """Sixteen private chats, two groups, a channel and a thread."""
    made: list[Line] = []
    for number in range(8):
        name = f"person{number}"
        made.append(Line(partial(on.tg.say, user=name), partial(texts, on.tg.private(name))))
        made.append(Line(partial(dc.say, user=name), partial(texts, dc.dm(name))))
    for title in ("Team", "Club"):
        said = partial(on.tg.say, user="alice", group=title)
        made.append(Line(partial(_mentioning, said), partial(texts, on.tg.group(title))))
    for channel in (dc.channel(), dc.thread("aside")):
        made.append(Line(partial(dc.say, channel=channel, mention=True), partial(texts, channel)))
    return made


def _mentioning(say: Callable[[str], object], text: str) -> None:
    say(f"@tierbot {text}")


@pytest.mark.slow
@pytest.mark.timeout(1500)
async def test_a_campaign_of_faults(on: Stage, dc: DiscordServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost, nothing is doubled without the mark, nothing out of order, nobody waits for ever."""
    print(f"seed {SEED}")  # pytest shows it when the story fails
    random = Random(SEED)
    quick = Pace(backoff=0.05, longest_backoff=0.2, answer=1.0, connect=0.5, preview_after=0.2, group_gap=0.5)
    monkeypatch.setattr("bot.adapters.telegram.TelegramOptions", partial(TelegramOptions, pace=quick))
    monkeypatch.setattr("bot.adapters.discord.DiscordOptions", partial(DiscordOptions, pace=HURRIED))
    for platform in ("telegram", "discord"):
        monkeypatch.setattr(f"bot.adapters.{platform}.failure.AMBIGUOUS", 0.5)
    vendors(on)
    on.env |= {"BOT_ACCESS": "open"}
    on.ms.default = moody(random)
    async with running(on) as app:
        await up(dc, app)
        chats = lines(on, dc)
        faulty(on, dc, random)
        longest = 0.0
        for number in range(ROUNDS):
            began = time.monotonic()
            for at, line in enumerate(chats):
                for part in "ab":
                    line.asked.append(f"r{number}c{at}{part}")
                    line.say(line.asked[-1])

            def missing(_: object) -> list[str]:
                return [line.asked[len(line.answers())] for line in chats if len(line.answers()) < len(line.asked)]

            patience = 2 * max(DEADLINE.values()) + OUTAGE_SECONDS
            both = time.monotonic() + patience
            while (left := missing(None)) and time.monotonic() < both:
                await on.tg.wait_for_change(0.2)
            assert not left, (left, on.rows("SELECT id, chat_id, state, error FROM outbox WHERE state != 'sent'"))
            longest = max(longest, time.monotonic() - began)
            print(f"round {number}: {time.monotonic() - began:.0f} s")
        on.tg.clear_faults()
        dc.clear_faults()
        await finished(on)
    repeated = [each for each in on.tg.violations if "message is not modified" in each.description]
    for each in repeated:  # an edit whose answer was lost
        on.tg.violations.remove(each)
    halves = marked = sorry = 0
    for line in chats:
        given = line.answers()
        assert len(given) == len(line.asked), (line.asked, given)
        for question, text in zip(line.asked, given, strict=True):
            told = f"{question}. " in f"{text.partition(chr(10))[0]} "  # an unanswered question is asked again with it
            assert told or "⚠️" in text, (question, text)
            sorry += not told
        halves += sum(text.endswith(" …") for text in line.heard())
        marked += sum(text.startswith(MARK) for text in line.heard())
    asked = sum(len(line.asked) for line in chats)
    print(f"{asked} questions, {sorry} answered with an apology, {marked} marked, {halves} halves, {longest:.0f} s")
