"""Commands and buttons on simcord."""

from __future__ import annotations

from handlers.commands import COMMANDS
from tests.simulator.team import Team
from tests.stories.harness import BotHarness

DEFERRED, DEFERRED_UPDATE = 5, 6
"""Types of first answers to interactions."""
EPHEMERAL = 1 << 6


def first_answers(team: Team) -> list[dict[str, object]]:
    """The first answers to the interactions."""
    return team.sim.bodies("POST", "/callback")


async def test_every_command_can_be_found_in_servers_and_in_private(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        for found in (team.bob.available_commands(team.general), team.bob.user.available_commands()):
            assert {name.partition(" ")[0] for name in found} == {spec.name for spec in COMMANDS}


async def test_a_slash_command_is_deferred_answered_and_stored(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        asked = await team.bob.slash(team.general, "tier", tier="smart", force=True)
        text = await team.answer(asked)
        assert text.splitlines()[0] == "Tier: smart, Force: on"
        assert [answer["type"] for answer in first_answers(team)] == [DEFERRED]
    assert on.rows("select tier, force from preferences") == [("smart", 1)]


async def test_ephemeral_answers_are_shown_to_one_person(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        asked = await team.bob.slash(team.general, "whoami")
        text = await team.answer(asked)
        assert asked.ephemeral
    assert [message.content for message in team.from_bot(team.general, viewer=team.bob)] == [text]
    assert team.from_bot(team.general, viewer=team.alice) == []


async def test_a_model_is_chosen_from_suggestions(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        offered = await team.suggestions(team.alice, "model set", "model", "gpt-5.2", tier="coding")
        assert "openai/gpt-5.2" in offered
        assert len(offered) <= 25
        asked = await team.alice.slash(team.general, "model set", tier="coding", model="openai/gpt-5.2")
        assert (await team.answer(asked)).startswith("✅ coding now uses `openai/gpt-5.2`.")


async def test_an_open_bot_suggests_models_to_newcomers(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        assert "openai/gpt-5.2" in await team.suggestions(team.bob, "model set", "model", "gpt-5.2", tier="coding")


async def test_a_menu_is_redrawn_after_a_restart(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        asked = await team.bob.slash(team.general, "tier")
        await team.answer(asked, "Tier: balanced")
        assert asked.response is not None
        await team.bob.click(asked.response, label="deep")
        await team.answer(asked, "Tier: deep")
    async with team.bot(on):
        await team.bob.click(asked.response, label="smart")
        await team.answer(asked, "Tier: smart")
    assert [answer["type"] for answer in first_answers(team)] == [DEFERRED, DEFERRED_UPDATE, DEFERRED_UPDATE]
    assert len(team.sim.bodies("PUT", "/commands")) == 1, "registered once"


async def test_the_owner_admits_a_stranger_with_a_button(team: Team, on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "pairing"
    hers, his = team.alice.user.dm_channel, team.bob.user.dm_channel
    async with team.bot(on):
        message = await team.bob.send_dm("hello")
        assert "This bot is private. Your code is" in (await team.reply(his, message)).content
        asked = await team.reply(hers, matching="wants to use me")
        await team.alice.user.click(asked, label="✅ Allow")
        await team.reply(his, matching="You may use me now")
        await team.reply(his, matching="You said: hello")
    assert len(on.ms.calls) == 1


async def test_a_command_in_private_gets_a_normal_answer(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        asked = await team.bob.user.slash("tier", tier="deep")
        assert (await team.answer(asked)).startswith("Tier: deep")
        assert not asked.ephemeral
