"""Messages on simcord."""

from __future__ import annotations

import pytest
from simcord import ChannelHandle
from simcord.http.router import dispatch

from tests.simulator.server import SimcordServer
from tests.simulator.team import Team
from tests.stories.harness import BotHarness

FENCED = "```python\n" + "\n".join(f"value_{n} = compute({n})" for n in range(150)) + "\n```"


def user_messages(on: BotHarness) -> list[str]:
    """The user messages in the model's prompt."""
    return [message["content"] for message in on.ms.last.body["messages"] if message["role"] == "user"]


async def test_a_mention_shows_typing_and_a_streamed_answer(sim: SimcordServer, team: Team, on: BotHarness) -> None:
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with team.bot(on):
        question = await team.bob.send(team.general, f"{team.mention} count")
        await gate.reached(60.0)
        half = await team.reply(team.general)
        assert half.content.startswith("one two")
        assert half.content != "one two three four"
        assert sim.bodies("POST", f"/channels/{team.general.id}/typing")
        gate.open()
        await team.reply(team.general, matching=lambda message: message.content == "one two three four")
    [whole] = team.from_bot(team.general)
    assert whole.id == half.id
    assert whole.edited_at is not None
    assert whole.reference is not None
    assert whole.reference.message_id == question.id
    [sent] = sim.bodies("POST", "/messages")
    assert sent["message_reference"]["fail_if_not_exists"] is False, "simcord itself does not look at that"
    edits = [body["content"] for body in sim.bodies("PATCH", f"/messages/{half.id}")]
    assert edits[-1] == "one two three four"
    assert len(set(edits)) == len(edits)
    assert on.ms.last.last_user_text == "count", "the mention is no part of the question"


async def test_messages_not_addressed_to_the_bot_are_ignored(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        await team.bob.send(team.general, "among ourselves")
        message = await team.bob.send(team.general, f"{team.mention} you")
        answer = await team.reply(team.general, message)
        await team.bob.send(team.general, "and this", reply_to=answer)
        await team.reply(team.general, answer)
    assert [call.last_user_text for call in on.ms.calls] == [
        "you",
        "> [I reply to TestBot]\n> You said: you\n\nand this",
    ]


async def test_a_direct_message_is_answered_and_remembered(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        message = await team.bob.send_dm("hello")
        answer = await team.reply(team.bob.user.dm_channel, message)
        assert answer.content == "You said: hello"
        assert answer.reference is None
        again = await team.bob.send_dm("what did I say?")
        await team.reply(team.bob.user.dm_channel, again)
    assert user_messages(on) == ["hello", "what did I say?"]


async def test_a_thread_is_a_separate_conversation(team: Team, on: BotHarness) -> None:
    thread = team.thread("aside")
    async with team.bot(on):
        message = await team.bob.send(team.general, f"{team.mention} in the channel")
        await team.reply(team.general, message)
        message = await team.bob.send(thread, f"{team.mention} in the thread")
        await team.reply(thread, message)
        assert user_messages(on) == ["in the thread"]
        message = await team.bob.send(thread, "go on")
        await team.reply(thread, message)
    assert user_messages(on) == ["in the thread", "go on"]


async def test_a_mention_can_start_a_thread(team: Team, on: BotHarness) -> None:
    on.env["DISCORD_THREADS"] = "true"
    async with team.bot(on):
        message = await team.bob.send(team.general, f"{team.mention} a long story")
        begun = await team.sim.wait_for(lambda: team.general.threads)
        assert (begun[0].id, begun[0].name) == (message.id, "a long story")
        assert (await team.reply(begun[0])).content == "You said: a long story"
    assert [m for m in team.from_bot(team.general) if m.content.startswith("You said")] == []


@pytest.mark.parametrize("text", ["@everyone wake up", "@here", "`@everyone`", "person", "role"])
async def test_model_output_pings_no_one(sim: SimcordServer, team: Team, on: BotHarness, text: str) -> None:
    role = team.guild.create_role("crew", mentionable=True)
    text = {"person": team.alice.mention, "role": role.mention}.get(text, text)
    assert pinged(team, team.general, dispatch_as_bot(team, text)), "simcord would let the bot ping"
    on.ms.reply(text)
    async with team.bot(on):
        asked = await team.bob.send(team.general, f"{team.mention} hi")
        answer = await team.reply(team.general, asked)
    assert not pinged(team, team.general, answer.id)
    assert sim.bodies("POST", "/messages")[-1]["allowed_mentions"] == {"parse": []}


def dispatch_as_bot(team: Team, text: str) -> int:
    """A message by the bot's account that leaves the mentions to Discord."""
    path = f"/channels/{team.general.id}/messages"
    return int(dispatch(team.sim.env.backend, "POST", path, json={"content": text})["id"])


def pinged(team: Team, place: ChannelHandle, message_id: int) -> bool:
    """Whether anyone but the person who asked was notified."""
    stored = team.sim.env.backend.get_message(place.id, message_id)
    return bool(stored.mention_everyone or stored.ping_role_ids or stored.ping_user_ids)


async def test_a_long_answer_is_split_with_code_fences_closed(team: Team, on: BotHarness) -> None:
    on.ms.reply(f"Here it is:\n\n{FENCED}\n\nTHE-END")
    async with team.bot(on):
        question = await team.bob.send_dm("write it")
        await team.reply(team.bob.user.dm_channel, question, "THE-END")
    parts = [message.content for message in team.from_bot(team.bob.user.dm_channel)]
    assert len(parts) > 1
    assert all(len(part) <= 2000 for part in parts)
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert all("```python\n" in part for part in parts), "a block goes on with its language"
    lines = [line for part in parts for line in part.splitlines() if line.startswith("value_")]
    assert lines == FENCED.splitlines()[1:-1]


async def test_very_long_output_is_a_file(team: Team, on: BotHarness) -> None:
    answer = "\n\n".join(f"Paragraph {n} says something." for n in range(800))
    on.ms.reply(answer)
    async with team.bot(on):
        question = await team.bob.send_dm("everything")
        last = await team.reply(team.bob.user.dm_channel, question, lambda message: message.attachments, 60)
    assert team.from_bot(team.bob.user.dm_channel) == [last]
    assert team.sim.env.backend.cdn.get(last.attachments[0].url) == answer.encode()


async def test_a_text_file_is_read(team: Team, on: BotHarness) -> None:
    async with team.bot(on):
        message = await team.bob.send(
            team.general, f"{team.mention} sum it up", attachments=[("notes.txt", b"the moon is far")]
        )
        await team.reply(team.general, message)
    assert "the moon is far" in on.ms.last.last_user_text
