"""Lost connections and restarts of the bot on simcord."""

from __future__ import annotations

import pytest

from bot.adapters.discord.failures import UNKNOWN_WEBHOOK
from tests.polling import until
from tests.servers.model.script import Gate, Script
from tests.simulator.server import SimcordServer
from tests.simulator.team import Team
from tests.stories.discord_bot import hurried
from tests.stories.harness import BotHarness, BotProcess, settled

__all__ = ["hurried"]
UNKNOWN_INTERACTION = 10062
HISTORY = "/messages"


@pytest.mark.parametrize("asked", [False, True], ids=["cut", "reconnect"])
async def test_resume_delivers_missed_events(team: Team, on: BotHarness, asked: bool) -> None:
    room = team.bob.user.dm_channel
    async with team.bot(on):
        await team.reply(room, await team.bob.send_dm("before"))
        with team.sim.gateway_away(asked=asked):
            question = await team.bob.send_dm("meanwhile")
            command = await team.bob.slash(team.general, "tier", tier="deep")
        assert (await team.answer(command)).startswith("Tier: deep")
        await team.reply(room, question)
        await team.reply(room, await team.bob.send_dm("after"))
        assert (team.sim.sessions, team.sim.resumed) == (1, 1)
        assert team.sim.bodies("GET", HISTORY) == [], "no history was read"
    assert [message.content for message in team.from_bot(room)] == [
        "You said: before",
        "You said: meanwhile",
        "You said: after",
    ]
    assert len(on.ms.calls) == 3


@pytest.mark.usefixtures("hurried")
async def test_an_expired_session_loses_no_message(team: Team, on: BotHarness) -> None:
    room = team.bob.user.dm_channel
    async with team.bot(on):
        await team.reply(room, await team.bob.send_dm("before"))
        with team.sim.gateway_away():
            team.sim.forget_sessions()
            question = await team.bob.send_dm("meanwhile")
        await team.reply(room, question)
        await settled(on)
        assert (team.sim.sessions, team.sim.resumed) == (2, 0)
    assert [message.content for message in team.from_bot(room)] == ["You said: before", "You said: meanwhile"]


@pytest.mark.parametrize(("command", "answer"), [("retry", "Another answer."), ("tier", "Tier: balanced")])
async def test_a_late_command_is_still_answered(team: Team, on: BotHarness, command: str, answer: str) -> None:
    """An interaction expires after three seconds. A public answer goes to the channel, a private one to the person."""
    on.ms.reply("One answer.")
    on.ms.reply("Another answer.")
    async with team.bot(on):
        await team.reply(team.general, await team.bob.send(team.general, f"{team.mention} hm?"), "One answer.")
        with team.sim.gateway_away():
            asked = await team.bob.slash(team.general, command)
            team.sim.env.backend.advance_clock(4)
        place = team.general if command == "retry" else team.bob.user.dm_channel
        assert (await team.reply(place, matching=answer)).content.startswith(answer)
        await settled(on)
    assert asked.response is None
    assert team.sim.refusals
    assert {code for _, code in team.sim.refusals} <= {UNKNOWN_INTERACTION, UNKNOWN_WEBHOOK}
    assert len(team.from_bot(team.general)) + len(team.from_bot(team.bob.user.dm_channel)) == 2


async def test_a_kill_mid_stream_loses_and_doubles_nothing(sim: SimcordServer, team: Team, on: BotHarness) -> None:
    """In private, in a channel and in a thread at once: each half continues in its own message, and messages sent while
    the bot was down are answered."""
    room = team.bob.user.dm_channel
    places = {"private": room, "channel": team.general, "thread": team.thread("aside")}
    gate = Gate()
    on.ms.default = lambda asked: reply_to(asked.last_user_text)
    async with BotProcess(on) as bot:
        await sim.wait_for(lambda: sim.sessions, 60)
        on.ms.default = lambda asked: Script(text=reply_to(asked.last_user_text), chunks=4, gate=gate, gate_after=2)
        sent = {"private": await team.bob.send_dm("private")}
        for name in ("channel", "thread"):
            sent[name] = await team.bob.send(places[name], f"{team.mention} {name}")
        await until(lambda: on.rows("SELECT count(*) FROM inbox WHERE placeholder != ''") == [(3,)])
        halves = {name: (await team.reply(place, sent[name])).id for name, place in places.items()}
        await bot.kill()
    assert not {reply_to(name) for name in places} & {
        m.content for place in places.values() for m in team.from_bot(place)
    }
    on.ms.default = lambda asked: reply_to(asked.last_user_text)
    missed = await team.bob.send_dm("missed")
    async with BotProcess(on) as bot:
        await team.reply(room, missed, reply_to("missed"), 60)
        await settled(on)
        assert await bot.terminate() == 0
    seen = {name: [(m.id, m.content) for m in team.from_bot(place)] for name, place in places.items()}
    assert [text for _, text in seen["private"]] == [reply_to("private"), reply_to("missed")]
    assert seen["private"][0][0] == halves["private"]
    for name in ("channel", "thread"):
        assert seen[name] == [(halves[name], reply_to(name))]


def reply_to(question: str) -> str:
    """The model's reply to it."""
    return f"one two three four, {question}"
