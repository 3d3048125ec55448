"""Messages sent in quick succession take effect in order."""

from tests.stories.harness import BotHarness, running


async def test_a_command_applies_to_the_question_sent_right_after_it(on: BotHarness) -> None:
    on.tg.say("/tier coding")
    on.tg.say("first question")
    async with running(on):
        await on.tg.reply(matching="You said: first question")
    assert on.ms.last.model == "gpt-5.2"


async def test_commands_sent_together_are_answered_in_order(on: BotHarness) -> None:
    for tier in ("smart", "coding", "deep", "balanced", "smart"):
        on.tg.say(f"/tier {tier}")
    async with running(on):
        replies = await on.tg.reply(count=5)
    firsts = [reply.text.splitlines()[0] for reply in replies]
    assert firsts == [f"Tier: {tier}, Force: off" for tier in ("smart", "coding", "deep", "balanced", "smart")]
