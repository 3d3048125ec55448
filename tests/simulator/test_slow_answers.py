"""Answers that take longer than Discord's time limits, on simcord."""

from __future__ import annotations

from tests.simulator.server import TOO_MANY
from tests.simulator.team import Team
from tests.stories.harness import BotHarness, settled

TOO_LATE = 901.0
"""In seconds; a token is invalid after 15 minutes."""


async def test_an_answer_after_token_expiry_goes_to_the_channel(team: Team, on: BotHarness) -> None:
    on.ms.reply("One answer.")
    async with team.bot(on):
        await team.reply(team.general, await team.bob.send(team.general, f"{team.mention} hm?"), "One answer.")
        gate = on.ms.reply("Another answer.", gate_after=0)
        asked = await team.bob.slash(team.general, "retry")
        await gate.reached(60.0)
        await team.sim.wait_for(lambda: asked.response)
        team.sim.env.backend.advance_clock(TOO_LATE)
        gate.open()
        answer = await team.reply(team.general, matching="Another answer.")
        await settled(on)
    assert asked.response is not None
    assert asked.response.id != answer.id
    messages = [message.content for message in team.from_bot(team.general) if message.content]
    assert messages == ["One answer.", "Another answer."]
    assert team.sim.refusals == []


async def test_a_late_private_answer_goes_to_its_person(team: Team, on: BotHarness) -> None:
    room = team.bob.user.dm_channel
    team.sim.env.inject_error("PATCH", "/webhooks/*", status=503, times=None)
    async with team.bot(on):
        await team.bob.slash(team.general, "tier")
        await team.sim.wait_for(lambda: team.sim.refusals)
        team.sim.env.backend.advance_clock(TOO_LATE)
    team.sim.env.backend.faults.clear()
    async with team.bot(on):
        assert (await team.reply(room)).content.startswith("Tier: balanced")
        await settled(on)
    assert len(team.from_bot(room)) == 1
    assert not any(m.content for m in team.from_bot(team.general, viewer=team.bob))


async def test_rate_limits_delay_answers_in_order(team: Team, on: BotHarness) -> None:
    """A long answer and the one after it."""
    on.ms.reply("\n\n".join(f"part {number} " + "and so on " * 150 for number in range(3)))
    on.ms.reply("The second answer.")
    room = team.bob.user.dm_channel
    async with team.bot(on):
        team.sim.env.inject_error("POST", "/channels/*/messages", status=TOO_MANY, times=2)
        for text in ("first", "second"):
            await team.bob.send_dm(text)
        await team.reply(room, matching="The second answer.")
        await settled(on)
    assert [message.content[:6] for message in team.from_bot(room)] == ["part 0", "part 1", "part 2", "The se"]
    assert [code for _, code in team.sim.refusals] == [TOO_MANY] * 2


async def test_a_rate_limit_delays_a_command_answer(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        team.sim.env.inject_error("PATCH", "/webhooks/*", status=TOO_MANY, times=1)
        assert (await team.answer(await team.bob.slash(team.general, "tier"))).startswith("Tier: balanced")
        await settled(on)
    assert [code for _, code in team.sim.refusals] == [TOO_MANY]
    assert team.from_bot(team.bob.user.dm_channel) == []
