"""A simcord server's users, what they see, and the bot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import discord
from simcord import ChannelHandle, InteractionResult, MemberActor, UserHandle
from simcord.backend.models import Overwrite
from simcord.enums import OverwriteType

from bot.app import App
from tests.simulator.server import TOKEN, SimcordServer
from tests.stories.harness import BotHarness, running

Matching = Callable[[discord.Message], Any] | str


class Team:
    """The server Team with the channel general."""

    def __init__(self, sim: SimcordServer) -> None:
        self.sim = sim
        self.guild = sim.env.create_guild("Team")
        self.general = self.guild.create_text_channel("general")
        self.alice = self.guild.add_member(sim.env.create_user("alice"))
        self.bob = self.guild.add_member(sim.env.create_user("bob"))
        self.bot_id = sim.env.backend.bot_user.id

    @property
    def mention(self) -> str:
        """A mention of the bot."""
        return f"<@{self.bot_id}>"

    def thread(self, name: str) -> ChannelHandle:
        """A thread that Bob opens in general."""
        made = self.sim.env.backend.create_thread(self.general.id, name, self.bob.id)
        return ChannelHandle(self.sim.env, self.guild, made)

    def deny(self, place: ChannelHandle, permission: str) -> None:
        """The bot loses this permission there."""
        role = self.guild.roles[self.sim.env.backend.bot_user.name]
        bit = getattr(discord.Permissions, permission).flag
        self.sim.env.backend.set_overwrite(place.id, Overwrite(role.id, OverwriteType.ROLE, deny=bit))

    def from_bot(self, place: ChannelHandle, viewer: MemberActor | UserHandle | None = None) -> list[discord.Message]:
        """The bot's messages there in their current version; ephemeral ones only for that `viewer`."""
        return [message for message in place.history(viewer=viewer) if message.author.id == self.bot_id]

    async def reply(
        self,
        place: ChannelHandle,
        after: discord.Message | None = None,
        matching: Matching = bool,
        seconds: float = 30.0,
    ) -> discord.Message:
        """The bot's first message there after this one whose text contains `matching`, or for which it returns true."""
        since = after.id if after is not None else 0

        def found() -> discord.Message | None:
            fresh = [one for one in self.from_bot(place) if one.id > since and one.content]
            return next((one for one in fresh if _matches(one, matching)), None)

        message = await self.sim.wait_for(found, seconds)
        assert message is not None
        return message

    async def answer(self, asked: InteractionResult, matching: str = "") -> str:
        """The answer to a command, once it contains `matching`."""

        def text() -> str:
            return asked.response.content if asked.response is not None else ""

        return await self.sim.wait_for(lambda: text() if matching in text() else "")

    async def suggestions(self, actor: MemberActor, *typed: str, **filled: object) -> list[str]:
        """The autocomplete choices while an option is typed: command, option, letters."""
        await actor.autocomplete(self.general, *typed, **filled)
        asked = list(self.sim.env.backend.interactions.values())[-1]
        await self.sim.wait_for(lambda: asked.responded)
        return [choice["value"] for choice in asked.autocomplete_choices or ()]

    @asynccontextmanager
    async def bot(self, on: BotHarness) -> AsyncIterator[App]:
        """The whole bot in this process, once people can write and use the commands."""
        before = self.sim.sessions
        async with running(on, self.sim.clock) as app:
            await self.sim.wait_for(lambda: self.sim.sessions > before and self.sim.env.backend.commands.get(None))
            await app.engine.llm.load()
            yield app


def bot_settings(sim: SimcordServer, team: Team) -> dict[str, str]:
    """The bot's settings: the address of Discord, and that Alice is its owner."""
    return {
        "TELEGRAM_BOT_TOKEN": "",
        "DISCORD_BOT_TOKEN": TOKEN,
        "DISCORD_API_ROOT": sim.root,
        "DISCORD_GATEWAY_URL": sim.gateway,
        "BOT_OWNERS": f"discord:{team.alice.id}",
    }


def _matches(message: discord.Message, wanted: Matching) -> bool:
    return wanted in message.content if isinstance(wanted, str) else bool(wanted(message))
