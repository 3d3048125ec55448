"""The same users, channels and messages in simcord and in our loopback server, to compare their responses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from simcord import ChannelHandle

from tests.servers.discord import Channel, DiscordServer, Interaction
from tests.simulator.gateway import Json
from tests.simulator.server import TOKEN, SimcordServer
from tests.simulator.team import Team

DENIED = {
    "mute": "send_messages",
    "hidden": "view_channel",
    "forgetful": "read_message_history",
    "stern": "add_reactions",
    "bare": "attach_files",
    "strict": "manage_messages",
    "flat": "create_public_threads",
}
"""Channels in which the bot lacks a permission. Bob wrote a message in each, and two in general: `said`, and `gone`,
which he deleted."""


@dataclass(slots=True)
class Backend:
    """`names` are the ids in its world, for the paths and bodies of calls; `ask` lets Bob run /go in general."""

    root: str
    token: str
    names: dict[str, str]
    advance: Callable[[float], None]
    ask: Callable[[], Awaitable[tuple[int, str]]]

    async def call(self, method: str, path: str, body: Any = None, files: int = 0) -> tuple[str, Json]:
        """The HTTP status with Discord's code, and the answer. `<name>` stands for the id `names[name]`."""
        headers = {"Authorization": f"Bot {self.token}"}
        text = self._named(json.dumps(body))
        data: Any = None if body is None else text
        if files:
            data = aiohttp.FormData({"payload_json": text}, quote_fields=False)
            for number in range(files):
                data.add_field(f"files[{number}]", b"x", filename=f"{number}.txt")
        elif body is not None:
            headers["Content-Type"] = "application/json"
        url = self.root + self._named(path)
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, data=data, headers=headers) as response,
        ):
            answer = await response.json() if response.content_type == "application/json" else {}
        code = answer.get("code") if isinstance(answer, dict) else None
        return f"{response.status} {code}" if code else str(response.status), answer

    async def begin(self) -> None:
        """Bob runs /go; <id> and <token> then refer to this interaction."""
        number, token = await self.ask()
        self.names |= {"id": str(number), "token": token}

    def _named(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(f"<{name}>", value)
        return text


@asynccontextmanager
async def simcord_backend() -> AsyncIterator[Backend]:
    """simcord with this world."""
    async with SimcordServer() as sim:
        team = Team(sim)
        names = {"app": sim.env.backend.application_id, "bob": team.bob.id, "general": team.general.id}
        for name, permission in DENIED.items():
            room = team.guild.create_text_channel(name)
            team.deny(room, permission)
            names |= {name: room.id, f"in_{name}": (await team.bob.send(room, "hello")).id}
        names["said"] = (await team.bob.send(team.general, "hello")).id
        gone = await team.bob.send(team.general, "gone")
        await team.bob.delete(gone)
        names |= {"gone": gone.id, "dm": team.bob.user.dm_channel.id}
        texts = {name: str(number) for name, number in names.items()}
        yield Backend(sim.root, TOKEN, texts, sim.env.backend.advance_clock, lambda: _asked(team, team.general))


async def _asked(team: Team, where: ChannelHandle) -> tuple[int, str]:
    await team.bob.slash(where, "go")
    newest = list(team.sim.env.backend.interactions.values())[-1]
    return newest.id, newest.token


@asynccontextmanager
async def loopback_backend() -> AsyncIterator[Backend]:
    """Our server with this world."""
    async with DiscordServer(response_limit=3.0) as dc:
        dc.guild()
        rooms: dict[str, Channel] = {name: dc.channel(name) for name in ("general", *DENIED)}
        names = {name: room.id for name, room in rooms.items()} | {"app": dc.application_id, "bob": dc.user("bob").id}
        for name, permission in DENIED.items():
            names[f"in_{name}"] = dc.say("hello", user="bob", channel=rooms[name]).id
            dc.forbid(rooms[name], permission)
        names["said"] = dc.say("hello", user="bob", channel="general").id
        gone = dc.say("gone", user="bob", channel="general")
        dc.delete(gone)
        names |= {"gone": gone.id, "dm": dc.dm("bob").id}

        async def ask() -> tuple[int, str]:
            asked: Interaction = dc.slash("go", {}, user="bob", where="general")
            return asked.id, asked.token

        yield Backend(dc.root, dc.token, {name: str(number) for name, number in names.items()}, dc.advance, ask)
