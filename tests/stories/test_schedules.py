"""Reminders and tasks: set, sent once, repeated, cancelled, and out of reach for others."""

from __future__ import annotations

import json
import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bot.app import App
from tests.fakes import ShiftedClock
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall
from tests.stories.discord_bot import texts, up
from tests.stories.harness import BotHarness, BotProcess, ask, press, running, settled, tool_results
from tests.stories.kills import HELD, MARK
from tests.stories.office import ASKED, ONCE, card, pressed
from tests.stories.test_linking import code, linked, only_telegram_has_owners, written

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=BERLIN).timestamp()


@pytest.fixture
def clock() -> ShiftedClock:
    """It is Monday, 23 November 2026, 10:00 in Berlin."""
    shifted = ShiftedClock()
    shifted.ahead = NOW - time.time()
    return shifted


def pass_time(app: App, clock: ShiftedClock, seconds: float) -> None:
    """The scheduler would notice a change of the clock within a second."""
    clock.ahead += seconds
    app.engine.schedules.changed.set()


async def answered(on: BotHarness, before: int) -> None:
    """Waits until the owner has more messages than `before`."""
    await on.tg.wait_for(lambda tg: len(tg.private().from_bot()) > before)


def calling(on: BotHarness, tool: str, **arguments: object) -> None:
    """The model calls this tool for each question."""

    def answer(request: ModelRequest) -> Script | str:
        role, text = request.reading.turns[-1]
        if role == "tool" and "was not run yet" not in text:
            return f"Done: {text}"
        return Script(calls=(ToolCall(tool, json.dumps(arguments)),))

    on.ms.default = answer


async def test_a_reminder_comes_once_and_again_on_request(on: BotHarness, clock: ShiftedClock) -> None:
    async with running(on, clock, time.time) as app:
        await ask(on, "/settings timezone Europe/Berlin")
        made = await ask(on, "/remind tomorrow 8:00 call Ana")
        assert made.text == "⏰ Reminder #1 for Tue 24 Nov, 08:00 (Europe/Berlin): call Ana"
        assert "Next reminder or task (of 1): Tue 24 Nov, 08:00" in (await ask(on, "/status full")).text
        pass_time(app, clock, 22 * 3600 + 1)
        sent = await on.tg.reply(matching="⏰ call Ana")
        assert sent.text == "⏰ call Ana"
        assert [each["text"] for each in sent.buttons] == ["✅ Done", "In 10 minutes", "Tomorrow"]
        again = await press(on, "In 10 minutes", sent)
        assert again.text.startswith("⏰ Reminder #2 for Tue 24 Nov, 08:10")
        pass_time(app, clock, 601)
        await on.tg.wait_for(lambda tg: [each.text for each in tg.private().from_bot()].count("⏰ call Ana") == 1)
        second = [each for each in on.tg.private().from_bot() if each.text == "⏰ call Ana"][-1]
        assert (await press(on, "✅ Done", second)).text == "✅ call Ana"
        assert on.rows("select * from schedules") == []
        assert "You have no reminders" in (await ask(on, "/schedule")).text


async def test_what_was_missed_comes_once_and_says_so(on: BotHarness, clock: ShiftedClock) -> None:
    async with running(on, clock, time.time):
        await ask(on, "/remind in 20 minutes tea")
        await ask(on, '/remind "every hour" stretch')
        await ask(on, '/schedule add "every hour" news')
    clock.ahead += 5 * 3600
    async with running(on, clock, time.time):
        late = await on.tg.reply(matching="tea")
        assert "This was due on Mon 23 Nov, 09:20, but I was not running then" in late.text
        await on.tg.reply(matching="⏰ stretch")
        answer = await on.tg.reply(matching="You said: news")
        assert answer.text.startswith("🗓 news\n\n(This was due on Mon 23 Nov, 10:00")
        clock.ahead -= 3 * 3600
        await ask(on, "hi")
        await settled(on)
    sent = [each.text for each in on.tg.private().from_bot()]
    assert sum("⏰ tea" in text for text in sent) == sum("⏰ stretch" in text for text in sent) == 1
    assert sum("You said: news" in text for text in sent) == 1
    assert [round(float(str(at)) - NOW) // 600 for (at,) in on.rows("select next_at from schedules")] == [36, 36]


async def test_a_reminder_that_always_fails_is_paused_and_told_and_blocks_no_other(
    on: BotHarness, clock: ShiftedClock
) -> None:
    async with running(on, clock, time.time) as app:
        await ask(on, "/remind in 20 minutes coffee")
        await ask(on, "/remind in 21 minutes tea")
        on.change("create table needed (id bigint references schedules (id))")  # so it can't be deleted
        on.change("insert into needed select id from schedules where text = ?", "coffee")
        pass_time(app, clock, 1300)
        await on.tg.reply(matching="⏰ tea")
        told = await on.tg.reply(matching="so I paused it: #1 coffee")
        assert "I could not do what was due on Mon 23 Nov, 09:20" in told.text
        assert on.rows("select text, state from schedules") == [("coffee", "paused")]


async def test_a_task_is_a_turn_of_its_person(on: BotHarness, clock: ShiftedClock) -> None:
    """With the tier, never as a command, and paused after three failures."""
    async with running(on, clock, time.time) as app:
        await ask(on, "/tier deep force")
        await ask(on, '/schedule add "every hour" /access forget me')
        pass_time(app, clock, 3601)
        await on.tg.reply(matching="You said: /access forget me")
        assert on.rows("select distinct tier from turns") == [("deep",)]
        on.ms.fail(500, times=None)
        for _ in range(3):
            before = len(on.tg.private().from_bot())
            pass_time(app, clock, 3601)
            await answered(on, before)
            await settled(on)
        await on.tg.reply(matching="⏸ Task #1 got no answer 3 times in a row")
        assert on.rows("select state from schedules") == [("paused",)]
        assert (await ask(on, "/schedule resume 1")).text == "▶️ #1 continues."


async def test_a_model_reminds_at_once_and_asks_before_tasks(on: BotHarness, clock: ShiftedClock) -> None:
    async with running(on, clock, time.time) as app:
        calling(on, "create_reminder", text="tea", when="in 20 minutes")
        assert "Reminder #1 is set" in (await ask(on, "Remind me of tea in 20 minutes")).text
        calling(on, "create_reminder", text="tea", when="yesterday")
        assert "understand" in (await ask(on, "Remind me of tea yesterday")).text
        calling(on, "create_task", prompt="news", when="every weekday at 8")
        question = on.tg.say("Every weekday at 8 send me the news")
        card = await on.tg.reply(question, after=question, matching=ASKED)
        assert "every weekday at 08:00, next Tue 24 Nov, 08:00 (UTC)" in card.text
        assert on.rows("select kind from schedules") == [("reminder",)]
        on.tg.press(ONCE, message=card)
        await on.tg.reply(matching="Task #2 is set")
        calling(on, "cancel_task", id=1)
        question = on.tg.say("Cancel my reminder about tea")
        card = await on.tg.reply(question, after=question, matching=ASKED)
        assert "It will be deleted: tea" in card.text
        assert len(on.rows("select kind from schedules")) == 2
        calling(on, "create_task", prompt="news", when="every weekday at 9")
        pass_time(app, clock, 23 * 3600 + 1)
        await on.tg.reply(matching="This is a scheduled task itself")
        assert "#2" in (await ask(on, "/schedule")).text
        assert tool_results(on)


async def test_a_confirmed_task_runs_at_the_time_that_was_shown(on: BotHarness, clock: ShiftedClock) -> None:
    """The button is pressed after midnight, when "tomorrow" is another day."""
    async with running(on, clock, time.time) as app:
        await ask(on, "/settings timezone Europe/Berlin")
        calling(on, "create_task", prompt="news", when="tomorrow 9:00")
        asked = await card(on, "Send me the news tomorrow at 9")
        assert "It will run at this time: Tue 24 Nov, 09:00 (Europe/Berlin)" in asked.text
        assert "when:" not in asked.text
        late = await card(on, "Send me the news tomorrow at 9")
        pass_time(app, clock, 15 * 3600)
        assert "Task #1 is set for Tue 24 Nov, 09:00 (Europe/Berlin)" in (await pressed(on, ONCE, asked)).text
        assert on.rows("select next_at from schedules") == [(NOW + 23 * 3600,)]
        pass_time(app, clock, 8 * 3600 + 1)
        await on.tg.reply(matching="This is a scheduled task itself")
        assert "is in the past" in (await pressed(on, ONCE, late)).text
        assert on.rows("select count(*) from schedules") == [(0,)]


async def test_a_model_has_the_limits_of_its_person(on: BotHarness, clock: ShiftedClock) -> None:
    """Others' reminders out of reach, the same checks as for a command, and the number of reminders."""
    on.env |= {"BOT_ACCESS": "open", "SCHEDULES_PER_PERSON": "2"}
    async with running(on, clock, time.time):
        await ask(on, "/remind in 20 minutes my secret")
        calling(on, "list_tasks")
        assert (await ask(on, "What is planned?", user="bob")).text == "Done: There are no reminders and no tasks."
        calling(on, "cancel_task", id=1)
        assert "You have no reminder or task “1”" in (await ask(on, "Cancel 1", user="bob")).text
        for refused, arguments in {
            "at most 2000 characters": {"text": "x" * 2_001, "when": "in 20 minutes"},
            "There is no text": {"text": " ", "when": "in 20 minutes"},
            "in the past": {"text": "tea", "when": "2020-01-01 10:00"},
            "can mean 2027-04-03 or 2027-03-04": {"text": "tea", "when": "03/04 at 9"},
            "too often: at most every 5 minutes": {"text": "tea", "when": "* * * * *"},
            "A time can have up to 200 characters": {"text": "tea", "when": "in " * 100},
        }.items():
            calling(on, "create_reminder", **arguments)
            assert refused in (await ask(on, "Remind me", user="bob")).text
        for number, text in enumerate(("tea", "bread"), 2):
            calling(on, "create_reminder", text=text, when="in 20 minutes")
            answer = await ask(on, "Remind me", user="bob")
            assert answer.text == f"Done: Reminder #{number} is set for Mon 23 Nov, 09:20 (UTC): {text}"
        calling(on, "create_reminder", text="butter", when="in 20 minutes")
        assert "You have 2 reminders and tasks already" in (await ask(on, "Remind me", user="bob")).text
        calling(on, "list_tasks")
        listed = (await ask(on, "What is planned?", user="bob")).text
        assert "#2 (reminder) Mon 23 Nov, 09:20 (UTC): tea" in listed
        assert "secret" not in listed
        assert on.rows("select text from schedules where person_id = 1") == [("my secret",)]


async def test_the_text_of_a_reminder_is_never_run(on: BotHarness, clock: ShiftedClock) -> None:
    """Neither as a command nor as a prompt, also when a button repeats it."""
    async with running(on, clock, time.time) as app:
        calling(on, "create_reminder", text="/access forget me", when="in 20 minutes")
        await ask(on, "Remind me")
        asked = len(on.ms.calls)
        pass_time(app, clock, 1201)
        sent = await on.tg.reply(matching="⏰ /access forget me")
        assert sent.text == "⏰ /access forget me"
        assert (await press(on, "In 10 minutes", sent)).text.endswith("(UTC): /access forget me")
        pass_time(app, clock, 601)
        sent = await on.tg.reply(matching=lambda each: each.text == "⏰ /access forget me" and each.id > sent.id)
        assert (await press(on, "✅ Done", sent)).text == "✅ /access forget me"
        await settled(on)
        assert len(on.ms.calls) == asked
        assert len(on.rows("select id from people")) == 1


async def test_others_can_not_reach_them_and_forgetting_deletes_them(on: BotHarness, clock: ShiftedClock) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on, clock, time.time):
        await ask(on, "/remind in 20 minutes my secret")
        await ask(on, "/remind in 20 minutes his tea", user="bob")
        for action in ("cancel", "pause", "resume"):
            refused = await ask(on, f"/schedule {action} 1", user="bob")
            assert refused.text.startswith("You have no reminder or task “1”")
        assert "secret" not in (await ask(on, "/schedule", user="bob")).text
        await press(on, "🗑 Delete it all", await ask(on, "/access forget me", user="bob"))
        assert on.rows("select text from schedules") == [("my secret",)]


async def test_a_blocked_person_gets_nothing(on: BotHarness, clock: ShiftedClock) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on, clock, time.time) as app:
        await ask(on, "/remind in 20 minutes tea", user="bob")
        await ask(on, '/schedule add "in 20 minutes" news', user="bob")
        bob = on.tg.user("bob")
        await ask(on, f"/access block telegram:{bob.id}")
        before = len(on.tg.private("bob").from_bot())
        pass_time(app, clock, 1201)
        await until(lambda: on.rows("select * from schedules") == [])
        await settled(on)
        assert len(on.tg.private("bob").from_bot()) == before


async def test_a_gone_group_and_a_change_of_time_zone(on: BotHarness, clock: ShiftedClock) -> None:
    async with running(on, clock, time.time) as app:
        await ask(on, "/access here on", group="Team")
        await ask(on, "/remind@tierbot in 20 minutes stand-up", group="Team")
        await ask(on, '/remind "every day at 9" write')
        moved = await ask(on, "/settings timezone America/New_York")
        assert "Repeated reminders and tasks that follow the new time zone: 1" in moved.text
        assert "09:00 (America/New_York)" in (await ask(on, "/schedule")).text
        on.tg.kick("Team")
        pass_time(app, clock, 1201)
        await on.tg.wait_for(lambda tg: any("stand-up" in each.text for each in tg.private().from_bot()))


async def test_discord_and_linked_accounts(on: BotHarness, dc: DiscordServer, clock: ShiftedClock) -> None:
    only_telegram_has_owners(on)
    on.env["BOT_ACCESS"] = "open"
    async with running(on, clock, time.time) as app:
        await up(dc, app)
        made = await written(dc, "/remind in 20 minutes tea", "bobby")
        assert made.text.startswith("⏰ Reminder #1 for Mon 23 Nov, 09:20 (UTC): tea")
        await linked(dc, await code(on))
        assert "tea" in (await ask(on, "/schedule")).text
        pass_time(app, clock, 1201)
        await dc.wait_for(lambda _: "⏰ tea" in texts(dc.dm("bobby")))
        assert on.rows("select * from schedules") == []


async def test_killed_after_the_reminder_was_queued(on: BotHarness) -> None:
    """The reminder is sent by the next process, once."""
    async with running(on):
        await ask(on, "/remind in 1 hour tea")
    on.change("update schedules set next_at = ?", time.time() - 5)
    async with BotProcess(on) as bot:
        on.tg.fault("sendMessage", "server_error", times=99)
        await until(lambda: on.rows("select 1 from outbox where state != 'sent' and payload like '%tea%'"))
        assert on.rows("select * from schedules") == []
        await bot.kill()
    on.tg.clear_faults()
    async with running(on):
        await on.tg.wait_for(lambda tg: any("⏰ tea" in each.text for each in tg.private().from_bot()))
        await settled(on)
    assert sum(each.text.endswith("⏰ tea") for each in on.tg.private().from_bot()) == 1


async def test_killed_during_a_task_and_before_a_reminder_is_marked_as_sent(on: BotHarness) -> None:
    """The task is answered once. The reminder arrived, but the bot doesn't know, so the copy is marked."""
    async with running(on):
        await ask(on, '/schedule add "every hour" news')
        await ask(on, "/remind in 1 hour tea")
    due = time.time() - 5
    on.change("update schedules set next_at = ?", due)
    usual, on.ms.default = on.ms.default, lambda _: HELD
    async with BotProcess(on) as bot:
        withheld = on.tg.fault("sendMessage", "hang_after")
        await on.tg.wait_for(lambda _: withheld.hits and any("news" in each.last_user_text for each in on.ms.calls))
        assert on.rows("select kind, next_at > 0 from schedules") == [("prompt", 1)]
        await bot.kill()
    on.tg.clear_faults()
    on.ms.default = usual
    async with BotProcess(on) as bot:
        await on.tg.reply(matching="You said: news")
        await on.tg.wait_for(lambda tg: any(MARK in each.text for each in tg.private().from_bot()))
        await settled(on)
        assert await bot.terminate() == 0
    sent = [each.text for each in on.tg.private().from_bot()]
    assert sum("You said: news" in text for text in sent) == 1
    assert [text for text in sent if text.endswith("⏰ tea")] == ["⏰ tea", MARK + "⏰ tea"]
    assert on.rows(f"select round(next_at - {due}) from schedules") == [(3600.0,)]
