"""The bot on Discord: readiness, pacing, and notices to its owner."""

from __future__ import annotations

import pytest

from bot.adapters.discord.settings import Pace
from bot.app import App
from tests.servers.discord import Channel, DiscordServer, Interaction, Message
from tests.stories.harness import BotHarness

HURRIED = Pace(
    backoff=0.05,
    longest_backoff=0.2,
    revoked=0.3,
    watch=0.05,
    identify_gap=0.0,
    preview_after=0.05,
    edit_gap=0.1,
)
CALLBACK = "POST /interactions/*/*/callback"
SEND = "POST /channels/*/messages"
SENDING = "/channels/{channel_id}/messages"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the waits that spare Discord."""
    monkeypatch.setattr("bot.adapters.discord.descriptor.Pace", lambda: HURRIED)
    monkeypatch.setattr("bot.adapters.shared.outbound.REVOKED_SECONDS", 0.3)


async def up(dc: DiscordServer, app: App) -> None:
    """Waits until people can write and see the commands."""
    await dc.ready()
    await dc.wait_for(lambda _: dc.commands)
    await app.engine.llm.load()


async def mention(dc: DiscordServer, text: str) -> Message:
    """Asks in the channel; returns the answer."""
    message = dc.say(text, channel="general", mention=True)
    return await dc.reply(message, after=message)


def texts(channel: Channel) -> list[str]:
    """The bot's messages visible to everyone."""
    seen = (message for message in channel.from_bot() if not (message.ephemeral or message.deleted or message.loading))
    return [message.text for message in seen]


def shown(asked: Interaction) -> list[str]:
    """The answers to an interaction through its token."""
    return [message.text for message in asked.answers if not message.loading]


async def owner_notified(on: BotHarness, dc: DiscordServer, sentence: str) -> None:
    """Waits until the owner got the sentence once on Telegram and, if Discord accepts messages, once there."""
    await on.tg.wait_for(lambda tg: _count(on, sentence))
    await dc.wait_for(lambda _: any(sentence in text for text in texts(dc.dm())))
    assert _count(on, sentence) == 1, on.tg.transcript()
    assert sum(sentence in text for text in texts(dc.dm())) == 1, dc.transcript(dc.dm())


def _count(on: BotHarness, sentence: str) -> int:
    return sum(sentence in message.text for message in on.tg.private().from_bot())
