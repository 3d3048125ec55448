"""A person writes, a model answers through the router, and both messages are stored."""

from tests.stories.harness import BotHarness, running


async def test_a_person_writes_and_a_model_answers(on: BotHarness) -> None:
    on.ms.reply("Hello **Alice**!")
    async with running(on):
        on.tg.say("hi")
        message = await on.tg.reply()
        assert message.text == "Hello Alice!"
        assert on.ms.last.model == "gpt-5.1"
        assert on.ms.last.reading.effort == "medium"
        on.tg.say("and now?")
        await on.tg.reply()
    turns = list(on.ms.last.reading.turns)[-3:]
    assert turns == [("user", "hi"), ("assistant", "Hello **Alice**!"), ("user", "and now?")]
