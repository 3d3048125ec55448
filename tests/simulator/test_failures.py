"""Deleted messages, missing permissions and outages on simcord."""

from __future__ import annotations

from pathlib import Path

import discord
import pytest

from tests.simulator.server import SimcordServer
from tests.simulator.team import Team, bot_settings
from tests.stories.harness import BotHarness, bot_harness

MISSING_ACCESS, MISSING_PERMISSIONS, UNKNOWN_MESSAGE = 50001, 50013, 10008


async def test_an_answer_whose_preview_was_deleted_is_sent_again(team: Team, on: BotHarness) -> None:
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with team.bot(on):
        message = await team.bob.send(team.general, f"{team.mention} count")
        await gate.reached(60.0)
        half = await team.reply(team.general, message)
        team.sim.env.backend.delete_message(team.general.id, half.id)
        gate.open()
        whole = await team.reply(team.general, message, "one two three four")
    assert whole.id != half.id
    assert team.from_bot(team.general) == [whole]
    assert {code for _, code in team.sim.refusals} == {UNKNOWN_MESSAGE}


async def test_a_deleted_question_is_still_answered(team: Team, on: BotHarness) -> None:
    gate = on.ms.reply("here I am", gate_after=0)
    async with team.bot(on):
        message = await team.bob.send(team.general, f"{team.mention} are you there?")
        await gate.reached(60.0)
        await team.bob.delete(message)
        gate.open()
        await team.reply(team.general, matching="here I am")
    assert len(team.from_bot(team.general)) == 1
    assert team.sim.refusals == []
    [sent] = team.sim.bodies("POST", "/messages")
    assert sent["message_reference"]["fail_if_not_exists"] is False, "simcord itself does not look at that"


@pytest.mark.parametrize("denied", ["send_messages", "view_channel"])
async def test_a_channel_without_access_is_reported_to_the_owner(team: Team, on: BotHarness, denied: str) -> None:
    gate = on.ms.reply("never to be read", gate_after=0)
    async with team.bot(on):
        await team.bob.send(team.general, f"{team.mention} hello?")
        await gate.reached(60.0)
        team.deny(team.general, denied)
        gate.open()
        notice = await team.reply(team.alice.user.dm_channel)
        assert "can't be delivered" in notice.content
        assert denied.replace("_", " ").title() in notice.content
        message = await team.bob.send_dm("and here?")
        assert (await team.reply(team.bob.user.dm_channel, message)).content == "You said: and here?"
    assert team.from_bot(team.general) == []
    assert len(team.from_bot(team.alice.user.dm_channel)) == 1
    expected = MISSING_ACCESS if denied == "view_channel" else MISSING_PERMISSIONS
    assert {code for _, code in team.sim.refusals} == {expected}


async def test_commands_are_answered_without_send_permission(team: Team, on: BotHarness) -> None:
    """An interaction's token gives access to the channel."""
    team.deny(team.general, "send_messages")
    async with team.bot(on):
        assert (await team.answer(await team.bob.slash(team.general, "tier", tier="deep"))).startswith("Tier: deep")
    assert team.sim.refusals == []


async def test_answers_need_no_reaction_permission(team: Team, on: BotHarness) -> None:
    """A message that waits behind a turn is marked with a reaction or, without that permission, with a note."""
    stern = team.guild.create_text_channel("stern")
    team.deny(stern, "add_reactions")
    gate = on.ms.reply("first", gate_after=0)
    async with team.bot(on):
        await team.bob.send(stern, f"{team.mention} one")
        await gate.reached(60.0)
        two = await team.bob.send(stern, f"{team.mention} two")
        note = await team.reply(stern, two, "👀")
        gate.open()
        await team.reply(stern, matching="You said: two")
    assert sorted(m.content for m in team.from_bot(stern)) == ["You said: two", "first", "👀"]
    assert note.flags.silent
    assert team.sim.refusals


async def test_a_single_server_error_only_delays_the_answer(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        team.sim.env.inject_error("POST", "/channels/*/messages", status=503, times=1)
        message = await team.bob.send_dm("hello")
        assert (await team.reply(team.bob.user.dm_channel, message)).content == "You said: hello"
    assert len(team.from_bot(team.bob.user.dm_channel)) == 1


async def test_messages_sent_while_offline_are_answered(team: Team, on: BotHarness) -> None:
    room = team.bob.user.dm_channel
    async with team.bot(on):
        await team.reply(room, await team.bob.send_dm("first"))
    missed = await team.bob.send_dm("are you there?")
    async with team.bot(on):
        await team.reply(room, missed, lambda message: message.content == "You said: are you there?")
    assert [call.last_user_text for call in on.ms.calls] == ["first", "are you there?"]


async def test_the_owner_learns_that_the_bot_was_removed(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        team.sim.env.backend.remove_guild(team.guild.id)
        assert "removed from the Discord server Team" in (await team.reply(team.alice.user.dm_channel)).content


async def test_without_the_intent_mentions_and_commands_still_work(tmp_path: Path) -> None:
    granted = discord.Intents.all()
    granted.message_content = False
    async with SimcordServer(granted) as sim, bot_harness(tmp_path / "workspace") as on:
        team = Team(sim)
        on.env |= bot_settings(sim, team) | {"BOT_ACCESS": "open"}
        async with team.bot(on):
            message = await team.bob.send(team.general, f"{team.mention} hi")
            assert (await team.reply(team.general, message)).content == "You said: hi"
            assert (await team.answer(await team.bob.slash(team.general, "tier"))).startswith("Tier: balanced")
        assert sim.gaps == []
        assert sim.sessions == 1
