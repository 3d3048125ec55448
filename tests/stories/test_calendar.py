"""The calendar on Telegram: connected step by step, then read, filled and cleared."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from tests.fakes import ShiftedClock
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import BEFORE_HEADERS, Script, ToolCall
from tests.servers.radicale import PASSWORD, USER
from tests.stories.accounts import connect, radicale
from tests.stories.harness import BotHarness, ask, running, tool_results
from tests.stories.office import CANCEL, ONCE, card, pressed

HINT = "🔌 I need access to your account for that: /connect calendar asks for it, in a private chat."
OURS = {"list_events", "find_free_time", "create_event", "update_event", "delete_event"}
DENTIST = {"title": "Dentist", "start": "tomorrow 15:00", "remind_minutes": 30}


def shown(on: BotHarness) -> set[str]:
    return {*on.ms.last.reading.tool_names} & OURS


def monday(on: BotHarness) -> ShiftedClock:
    """A Monday morning."""
    clock = ShiftedClock()
    clock.ahead = datetime(2026, 11, 23, 9, tzinfo=UTC).timestamp() - clock()
    return clock


async def test_a_calendar_is_connected_read_and_filled(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on, monday(on)):
            await ask(on, "/settings timezone Europe/Berlin")
            answer = await ask(on, "What's on my calendar tomorrow?")
            assert answer.text == f"You said: What's on my calendar tomorrow?\n\n{HINT}"
            assert shown(on) == set()
            assert HINT not in (await ask(on, "And what meetings are in my calendar on Friday?")).text, "only once"
            assert "✅ Connected" in (await connect(on, server)).text
            on.ms.call_tools([("list_events", {"start": "tomorrow"})])
            on.ms.reply("Nothing is planned.")
            assert (await ask(on, "What's on my calendar tomorrow?")).text == "Nothing is planned."
            assert shown(on) == OURS
            assert json.loads(tool_results(on)[-1])["events"] == []
            on.ms.call_tools([("create_event", DENTIST)])
            on.ms.reply("The dentist is in your calendar: tomorrow at 15:00.")
            await ask(on, "Put the dentist into my calendar tomorrow at 3 pm and remind me half an hour before")
            made = json.loads(tool_results(on)[-1])["created"]
            assert (made["title"], made["start"]) == ("Dentist", "Tue 2026-11-24 15:00")
            stored = server.stored("/ann/home/")
            assert "DTSTART;TZID=Europe/Berlin:20261124T150000" in stored
            assert "TRIGGER:-PT30M" in stored, "the calendar reminds"
            on.ms.call_tools([("delete_event", {"id": made["id"]})])
            asked = await card(on, "Cancel my dentist appointment")
            assert "This deletes “Dentist” (2026-11-24 15:00) from your calendar." in asked.text
            assert "Dentist" in server.stored("/ann/home/"), "not yet"
            on.ms.reply("It is deleted.")
            assert (await pressed(on, ONCE, asked)).text == "It is deleted."
            assert "Dentist" not in server.stored("/ann/home/")
            await ask(on, "/connect off calendar")
            await ask(on, "What's on my calendar tomorrow?")
            assert shown(on) == set()


async def test_a_turn_that_begins_again_makes_no_second_event(on: BotHarness) -> None:
    dentist = {"title": "Dentist", "start": "2027-01-05T15:00"}
    with radicale(on) as server:
        async with running(on) as app:
            await connect(on, server)
            on.ms.call_tools([("create_event", dentist)])
            gate = on.ms.reply("Done.", gate_after=BEFORE_HEADERS)
            said = on.tg.say("Put the dentist into my calendar on 5 January at 15:00")
            await gate.reached()
            await app.inbox.drain(0)
        on.ms.call_tools([("create_event", dentist)])
        on.ms.reply("It is there.")
        async with running(on):
            await on.tg.reply(said, matching="It is there.")
        assert server.stored("/ann/home/").count("SUMMARY:Dentist") == 1


async def test_inviting_waits_for_the_button_and_sends_the_invitation(on: BotHarness) -> None:
    lunch = {"title": "Lunch", "start": "tomorrow 12:00", "attendees": ["bob@example.com"]}
    with radicale(on) as server:
        async with running(on, monday(on)):
            await connect(on, server)
            on.ms.call_tools([("create_event", lunch)])
            asked = await card(on, "Invite bob@example.com to lunch in my calendar tomorrow")
            assert "invites bob@example.com; your server may send them an email" in asked.text
            assert server.stored("/ann/home/").count("Lunch") == 0
            on.ms.reply("Bob is invited.")
            answer = await pressed(on, ONCE, asked)
            assert answer.text == "Bob is invited."
            assert answer.content["document"]["file_name"] == "invitation.ics"
            assert "mailto:bob@example.com" in server.stored("/ann/home/")
            on.ms.call_tools([("create_event", lunch | {"title": "Dinner"})])
            refused = await card(on, "And to dinner in my calendar")
            on.tg.press(CANCEL, message=refused)
            await on.tg.wait_for(lambda _: refused.text.startswith("❌"))
            assert "Dinner" not in server.stored("/ann/home/")


async def test_another_persons_calendar_is_out_of_reach(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    with radicale(on) as server:
        async with running(on, monday(on)):
            await connect(on, server)

            def obeys(request: ModelRequest) -> Script | str:
                if request.reading.turns[-1][0] == "tool":
                    return request.reading.turns[-1][1]
                return Script(calls=(ToolCall("list_events", '{"start": "today"}'),))

            on.ms.default = obeys
            told = await ask(on, "What is in Alice's calendar?", user="bob")
            assert "No account is connected for this." in told.text
            assert shown(on) == set()
            assert PASSWORD not in str(on.ms.last.body)


async def test_the_calendar_in_german(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on, monday(on)):
            await ask(on, "/settings language de")
            await ask(on, "/settings timezone Europe/Berlin")
            told = await ask(on, "Was steht morgen in meinem Kalender?")
            assert told.text.endswith(
                "🔌 Dafür brauche ich Zugang zu deinem Konto: /connect calendar fragt in einem privaten Chat danach."
            )
            assert f"✅ Verbunden und geprüft: Kalender, {USER}" in (await connect(on, server)).text
            on.ms.call_tools([("create_event", {"title": "Zahnarzt", "start": "2026-11-24T15:00"})])
            on.ms.reply("Steht im Kalender.")
            assert (
                await ask(on, "Trag morgen um 15 Uhr den Zahnarzt in den Kalender ein")
            ).text == "Steht im Kalender."
            identity = json.loads(tool_results(on)[-1])["created"]["id"]
            on.ms.call_tools([("delete_event", {"id": identity})])
            asked = await card(on, "Lösch den Termin beim Zahnarzt")
            assert "Das löscht „Zahnarzt“ (24.11.2026 15:00) aus deinem Kalender." in asked.text
            assert ZoneInfo("Europe/Berlin").key in server.stored("/ann/home/")


async def test_contacts_are_found_with_the_calendars_account_and_deleted_after_a_button(on: BotHarness) -> None:
    with radicale(on) as server:
        server.address_book()
        async with running(on):
            await connect(on, server)
            on.ms.call_tools([("create_contact", {"name": "Bob Miller", "phones": ["030 123456"]})])
            on.ms.reply("Bob is in your address book.")
            await ask(on, "Save Bob Miller's phone number in my contacts: 030 123456")
            on.ms.call_tools([("find_contact", {"query": "bob"})])
            on.ms.reply("It is 030 123456.")
            assert (await ask(on, "What's Bob's phone number?")).text == "It is 030 123456."
            (found,) = json.loads(tool_results(on)[-1])["contacts"]
            assert found["phones"] == ["030 123456"]
            on.ms.call_tools([("delete_contact", {"id": found["id"]})])
            asked = await card(on, "Delete Bob from my contacts")
            assert "This deletes Bob Miller from your address book." in asked.text
            assert found["id"] not in asked.text
            assert "Bob Miller" in server.stored("/ann/people/")
            on.ms.reply("It is deleted.")
            await pressed(on, ONCE, asked)
            assert "Bob Miller" not in server.stored("/ann/people/")


async def test_an_address_book_is_connected_by_itself(on: BotHarness) -> None:
    with radicale(on) as server:
        async with running(on):
            assert "this account has no address book" in (await connect(on, server, "contacts")).text
            server.address_book()
            await ask(on, "/stop")
            assert (await connect(on, server, "contacts")).text.startswith("✅ Connected and tested: Address book")
