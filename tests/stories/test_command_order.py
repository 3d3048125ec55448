"""A command affects the questions after it, and none before it."""

from __future__ import annotations

import pytest

from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.servers.model.request import ModelRequest
from tests.stories.access import code_in
from tests.stories.databases import DRIVERS
from tests.stories.discord_bot import up
from tests.stories.harness import OWNER, BotHarness, BotProcess, ask, running, settled

COMMANDS = [
    "/model balanced openai/gpt-5.2",
    "/new",
    "/history resume 2",
    "/tier smart",
    "/tier deep force",
    "/skill poet",
    "/settings instructions Answer in verse.",
    "/tools off files",
]
"""Each changes what the ones before it left as it was."""


def asked_with(call: ModelRequest) -> tuple[object, ...]:
    """The parts of a request that a command could have changed."""
    reading = call.reading
    conversation = next(text for role, text in reading.turns if role == "user")
    return call.model, reading.effort, reading.system_text, "read_file" in reading.tool_names, conversation


def call_for(on: BotHarness, text: str) -> ModelRequest:
    return next(call for call in reversed(on.ms.calls) if call.reading.last_user_text == text)


def prepare(on: BotHarness) -> None:
    """A skill for the stories."""
    skill = on.workspace / "skills" / "poet" / "SKILL.md"
    skill.parent.mkdir(parents=True, exist_ok=True)
    skill.write_text("---\nname: poet\ndescription: Writes poems.\n---\nSpeak like a poet.\n", encoding="utf-8")


async def test_a_command_does_not_reach_questions_that_wait_before_it(on: BotHarness) -> None:
    prepare(on)
    async with running(on):
        await ask(on, "pears")
        await ask(on, "/new")
        for number, command in enumerate(COMMANDS):
            usual, one, two, three = (f"{name} {number}: read my file" for name in ("apples", "one", "two", "three"))
            await ask(on, usual)
            gate = on.ms.gate("done")
            on.tg.say(one)
            await gate.reached()
            on.tg.say(two)
            answered = on.tg.say(command)
            calls = len(on.ms.calls)
            await on.tg.reply(answered, after=answered)  # at once, during the turn
            assert len(on.ms.calls) == calls
            last = on.tg.say(three)
            gate.open()
            await on.tg.reply(last, after=last)
            await settled(on)
            before = asked_with(call_for(on, usual))
            assert asked_with(call_for(on, one)) == before, command
            assert asked_with(call_for(on, two)) == before, command
            assert asked_with(call_for(on, three)) != before, command


@pytest.mark.parametrize("command", ["/tier smart", "/new"])
async def test_the_order_holds_for_messages_sent_while_the_bot_was_down(on: BotHarness, command: str) -> None:
    prepare(on)
    async with running(on):
        await ask(on, "apples: read my file")
        await settled(on)
    for text in ("one: read my file", "two: read my file", command):  # the first may begin before the command
        on.tg.say(text)
    last = on.tg.say("three: read my file")
    async with running(on):
        await on.tg.reply(last)
        await settled(on)
    usual = asked_with(call_for(on, "apples: read my file"))
    assert asked_with(call_for(on, "one: read my file")) == usual
    assert asked_with(call_for(on, "two: read my file")) == usual
    assert asked_with(call_for(on, "three: read my file")) != usual


@pytest.mark.parametrize("driver", dict.fromkeys(DRIVERS))
async def test_the_order_holds_across_a_kill(on: BotHarness, driver: str) -> None:
    """The commands were answered; the questions before them were not."""
    on.use(driver)
    async with BotProcess(on):
        await ask(on, "apples: read my file")
        gate = on.ms.gate("never")
        on.tg.say("one: read my file")
        await gate.reached()
        on.tg.say("two: read my file")
        await ask(on, "/tier smart")
        await ask(on, "/new")
    last = on.tg.say("three")
    async with BotProcess(on):
        await on.tg.reply(last)
        await settled(on)
    usual = asked_with(call_for(on, "apples: read my file"))
    assert [asked_with(call_for(on, f"{each}: read my file")) for each in ("one", "two")] == [usual, usual]
    model, effort, *_, conversation = asked_with(call_for(on, "three"))
    assert (model, effort, conversation) == ("gpt-5.1", "high", "three")
    assert on.rows("SELECT DISTINCT fixed FROM inbox WHERE state = 'done'") == [("",)]


async def test_a_command_does_not_reach_a_question_whose_files_are_being_read(on: BotHarness) -> None:
    """A turn's settings are read when it begins, not when its files are read."""
    slow = on.tg.fault("getFile", "slow")
    async with running(on):
        await ask(on, "apples")
        message = on.tg.say_document("notes.txt", b"some notes")
        await on.tg.wait_for(lambda _: slow.hits)
        await ask(on, "/tier smart")
        slow.release()
        await on.tg.reply(message)
    assert on.ms.last.reading.effort == "medium"


@pytest.mark.parametrize("word", ["/stop", "stop"])
async def test_stop_ends_the_question_that_was_sent_with_it(on: BotHarness, word: str) -> None:
    on.tg.say("think")
    on.tg.say(word)
    async with running(on):
        assert (await on.tg.reply()).text == "⏹ Stopped."
        assert (await ask(on, "and now?")).text == "You said: and now?"


async def test_a_command_does_not_reach_questions_of_the_persons_other_account(
    on: BotHarness, dc: DiscordServer
) -> None:
    on.env["BOT_OWNERS"] = f"telegram:{OWNER}"
    async with running(on) as app:
        await up(dc, app)
        given = code_in(await ask(on, "/access link"))
        message = dc.say(f"/access link {given}", user="ali")
        assert "You are one person on" in (await dc.reply(message, after=message)).text
        gate = on.ms.gate("done")
        on.tg.say("one")
        await gate.reached()
        waits = on.tg.say("two")
        await on.tg.wait_for(lambda _: waits.emoji)
        message = dc.say("/tier smart", user="ali")
        await dc.reply(message, after=message)
        gate.open()
        await on.tg.reply(matching="You said: two")
        assert call_for(on, "two").reading.effort == "medium"
        await ask(on, "three")
        assert call_for(on, "three").reading.effort == "high"


async def test_stop_finishes_after_the_stopped_answer_is_stored(on: BotHarness) -> None:
    """A kill in between keeps both: the question is not asked again without being stopped again."""
    slow = on.tg.fault("sendMessageDraft", "slow", seconds=1.5)
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    states = "select state from inbox order by id"
    async with running(on):
        on.tg.say("count")
        await gate.reached()
        await on.tg.wait_for(lambda _: slow.hits)
        on.tg.say("/stop")
        await until(lambda: on.rows(states)[1:] == [("done",)])
        assert on.rows(states)[:1] == [("done",)]
        gate.open()


@pytest.mark.parametrize("command", ["/new", "/tier smart"])
async def test_the_order_holds_for_a_new_person(on: BotHarness, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In open mode; turns wait for the rest of a backlog, commands don't."""
    monkeypatch.setattr("bot.inbox.admission.BURST", 1)
    on.env["BOT_ACCESS"] = "open"
    for text in ("one", command, "two"):
        last = on.tg.say(text, user="bob")
    async with running(on):
        await on.tg.reply(last)
        await settled(on)
    one, two = asked_with(call_for(on, "one")), asked_with(call_for(on, "two"))
    assert one[-1] == "one"
    assert (one[:2] == two[:2], two[-1]) == ((True, "two") if command == "/new" else (False, "one"))
