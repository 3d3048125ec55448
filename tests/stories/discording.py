"""Stories on Discord: when the bot is up, how patient it is, and what its owner was told."""

from __future__ import annotations

from functools import partial

import pytest

from bot.adapters.discord.options import DiscordOptions, Pace
from bot.app import App
from tests.servers.discord import Channel, DiscordServer, Interaction, Message
from tests.stories.harness import Stage
from tests.stories.killing import until

HURRIED = Pace(
    backoff=0.05,
    longest_backoff=0.2,
    revoked=0.3,
    watch=0.05,
    identify_gap=0.0,
    silence=1.0,
    preview_after=0.05,
    edit_gap=0.1,
)
CALLBACK = "POST /interactions/*/*/callback"
SEND = "POST /channels/*/messages"
SENDING = "/channels/{channel_id}/messages"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits that are long to spare Discord, short."""
    monkeypatch.setattr("bot.adapters.discord.descriptor.DiscordOptions", partial(DiscordOptions, pace=HURRIED))
    monkeypatch.setattr("bot.adapters.shared.failures.REVOKED_SECONDS", 0.3)


async def up(dc: DiscordServer, app: App) -> None:
    """Once people can write and find the commands."""
    await dc.ready()
    await dc.wait_for(lambda _: dc.commands)
    await app.engine.llm.load()


async def mention(dc: DiscordServer, text: str) -> Message:
    """A question in the channel, and its answer."""
    said = dc.say(text, channel="general", mention=True)
    return await dc.reply(said, after=said)


def texts(channel: Channel) -> list[str]:
    """What the bot said there that everybody sees."""
    seen = (message for message in channel.from_bot() if not (message.ephemeral or message.deleted or message.loading))
    return [message.text for message in seen]


def shown(asked: Interaction) -> list[str]:
    """What the interaction was answered with, by its own token."""
    return [message.text for message in asked.answers if not message.loading]


async def settled(on: Stage) -> None:
    """Nothing waits for its turn or its delivery any more."""
    waiting = "SELECT count(*) FROM inbox WHERE state != 'done'"
    unsent = "SELECT count(*) FROM outbox WHERE state NOT IN ('sent', 'dead')"
    await until(lambda: on.rows(waiting) == on.rows(unsent) == [(0,)])


async def told(on: Stage, dc: DiscordServer, sentence: str) -> None:
    """The owner reads the sentence once on Telegram and, when Discord takes messages, once there."""
    await on.tg.wait_for(lambda tg: _count(on, sentence))
    await dc.wait_for(lambda _: any(sentence in text for text in texts(dc.dm())))
    assert _count(on, sentence) == 1, on.tg.transcript()
    assert sum(sentence in text for text in texts(dc.dm())) == 1, dc.transcript(dc.dm())


def _count(on: Stage, sentence: str) -> int:
    return sum(sentence in message.text for message in on.tg.private().from_bot())
