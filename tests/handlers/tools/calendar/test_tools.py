"""The calendar's tools against a real server: create, read, change, delete, and what goes wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from handlers.accounts import guarded_session
from handlers.outgoing import MAX_FILES, OutgoingFiles
from handlers.tools.authoring.tool import Preview
from handlers.tools.calendar.server import MAX_IDS
from routing.errors import ToolFailed
from routing.types.messages import OutgoingFile
from tests.handlers.tools.calendar.harness import BEN, Office, office


@pytest.fixture
async def on(in_memory: Path) -> AsyncIterator[Office]:
    async with office(in_memory) as made:
        yield made


async def listed(on: Office, start: str, end: str = "", **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(await on.call("list_events", start=start, end=end, **more))["events"]
    return found


def times(events: list[dict[str, Any]]) -> list[str]:
    return [f"{each['start'][4:]} {each['title']}" for each in events]


async def test_an_event_is_created_listed_moved_and_deleted(on: Office) -> None:
    made = json.loads(await on.call("create_event", title="Dentist", start="tomorrow 15:00", place="Main St"))[
        "created"
    ]
    assert made["start"] == "Tue 2026-11-24 15:00"
    assert made["end"] == "Tue 2026-11-24 16:00"
    (found,) = await listed(on, "tomorrow")
    assert found == made
    await on.call("update_event", id=found["id"], start="2026-11-25T09:00", title="Dentist, late")
    assert await listed(on, "tomorrow") == []
    (moved,) = await listed(on, "2026-11-25")
    assert (moved["start"], moved["end"]) == ("Wed 2026-11-25 09:00", "Wed 2026-11-25 10:00"), "the length stays"
    assert (moved["title"], moved["place"]) == ("Dentist, late", "Main St")
    assert await on.asks("delete_event", id=moved["id"]) == (
        "This deletes “`Dentist, late`” (2026-11-25 09:00) from your calendar."
    )
    assert "löscht „`Dentist, late`“ (25.11.2026 09:00)" in str(await on.asks("delete_event", "de", id=moved["id"]))
    assert await on.call("delete_event", id=moved["id"]) == "The event is deleted."
    assert await listed(on, "2026-11-25") == []
    with pytest.raises(ToolFailed, match="no such event"):
        await on.call("delete_event", id=moved["id"])


async def test_a_place_and_notes_are_removed_and_an_empty_text_is_not_given(on: Office) -> None:
    given: dict[str, Any] = {"title": "Team", "start": "tomorrow 09:00", "place": "Room 5", "notes": "Bring tea"}
    made = json.loads(await on.call("create_event", **given))["created"]
    await on.call("update_event", id=made["id"], title="", place="", notes="")
    assert await listed(on, "tomorrow") == [made]
    await on.call("update_event", id=made["id"], place=" ", notes=" ")
    assert await listed(on, "tomorrow") == [{key: made[key] for key in made if key not in ("place", "notes")}]


async def test_long_notes_are_shown_with_what_is_missing(on: Office) -> None:
    made = json.loads(await on.call("create_event", title="Team", start="tomorrow 09:00", notes="x" * 1_500))["created"]
    assert made["notes"] == "x" * 300 + "… [1,200 more characters]"


async def test_the_same_event_is_not_made_twice(on: Office) -> None:
    given: dict[str, Any] = {"title": "Team", "start": "tomorrow 09:00", "notes": "Bring tea"}
    first = json.loads(await on.call("create_event", **given))["created"]
    assert json.loads(await on.call("create_event", **given))["created"] == first
    assert await listed(on, "tomorrow") == [first]
    await on.call("create_event", **given | {"start": "tomorrow 10:00"})
    await on.call("update_event", id=first["id"], start="2026-11-24T11:00")
    again = json.loads(await on.call("create_event", **given))["created"]
    assert again["id"] != first["id"], "the first one was moved"
    assert times(await listed(on, "tomorrow")) == [f"2026-11-24 {hour}:00 Team" for hour in ("09", "10", "11")]
    await on.call("delete_event", id=first["id"])
    await on.call("create_event", **given | {"start": "tomorrow 09:00"})
    assert len(await listed(on, "tomorrow")) == 3


async def test_a_deleted_event_is_made_again_where_the_server_keeps_its_name(on: Office) -> None:
    given: dict[str, Any] = {"title": "Team", "start": "tomorrow 09:00"}
    on.server.keeps_deleted = True
    first = json.loads(await on.call("create_event", **given))["created"]
    await on.call("delete_event", id=first["id"])
    again = json.loads(await on.call("create_event", **given))["created"]
    assert again["id"] != first["id"]
    assert await listed(on, "tomorrow") == [again]


@pytest.mark.parametrize("gone", ["update_event", "delete_event"])
async def test_an_event_is_made_once_more_beside_each_that_moved_or_was_deleted(on: Office, gone: str) -> None:
    given: dict[str, Any] = {"title": "Team", "start": "tomorrow 09:00"}
    change: dict[str, Any] = {"start": "2026-11-25T09:00"} if gone == "update_event" else {}
    on.server.keeps_deleted = True
    for _ in range(3):
        first = json.loads(await on.call("create_event", **given))["created"]
        for _ in range(2):
            assert json.loads(await on.call("create_event", **given))["created"] == first
        assert await listed(on, "tomorrow") == [first]
        await on.call(gone, id=first["id"], **change)
        assert await listed(on, "tomorrow") == []


LATE = (
    "END:VEVENT\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261101T000000Z\r\nRECURRENCE-ID:20261125T080000Z\r\n"
    "DTSTART:20261125T100000Z\r\nEND:VEVENT"
)


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("END:VEVENT", "STATUS:CANCELLED\r\nEND:VEVENT", True),
        ("DESCRIPTION:Bring tea", "DESCRIPTION:Bring cake", True),
        ("LOCATION:Room 5", "LOCATION:Room 6", True),
        ("ATTENDEE;RSVP=TRUE:mailto:bob@example.org", "ATTENDEE:mailto:eve@example.org", True),
        ("END:VEVENT", "ATTENDEE:mailto:eve@example.org\r\nEND:VEVENT", True),
        ("FREQ=DAILY", "FREQ=WEEKLY", True),
        ("RRULE:FREQ=DAILY", "RDATE:20261126T080000Z", True),
        ("END:VEVENT", "RDATE:20261126T100000Z\r\nEND:VEVENT", True),
        ("END:VEVENT", "EXDATE:20261125T080000Z\r\nEND:VEVENT", True),
        ("END:VEVENT", LATE, True),
        ("END:VEVENT", "STATUS:CONFIRMED\r\nTRANSP:OPAQUE\r\nX-ODD:1\r\nEND:VEVENT", False),
        ("SEQUENCE:1", "SEQUENCE:7", False),
        (
            "ATTENDEE;RSVP=TRUE:mailto:bob@example.org",
            "ORGANIZER:mailto:ann@example.org\r\nATTENDEE;PARTSTAT=ACCEPTED:mailto:Ann@example.org\r\n"
            "ATTENDEE;PARTSTAT=ACCEPTED:MAILTO:Bob@example.org",
            False,
        ),
    ],
)
async def test_an_event_that_was_changed_elsewhere_is_not_taken_for_the_new_one(
    on: Office, old: str, new: str, again: bool
) -> None:
    given: dict[str, Any] = {"title": "Team", "start": "tomorrow 09:00", "notes": "Bring tea", "place": "Room 5"}
    given |= {"repeat": "daily", "attendees": ["bob@example.org"]}
    first = json.loads(await on.call("create_event", **given))["created"]
    path = f"/ann/{first['id']}"
    stored = on.server.send("GET", path, "")
    before, found, after = stored.rpartition(old)
    uid = first["id"].rpartition("/")[2].removesuffix(".ics")
    assert found
    on.server.put(path, before + new.format(uid=uid) + after)
    made = json.loads(await on.call("create_event", **given))["created"]
    assert (made["id"] != first["id"]) == again
    assert json.loads(await on.call("create_event", **given))["created"] == made


async def test_an_event_that_the_server_never_stores_is_given_up(on: Office) -> None:
    given: dict[str, Any] = {"title": "Team", "start": "tomorrow 09:00"}
    on.server.keeps_deleted = True
    for _ in range(MAX_IDS):
        made = json.loads(await on.call("create_event", **given))["created"]
        await on.call("delete_event", id=made["id"])
    with pytest.raises(ToolFailed, match="does not store the event"):
        await on.call("create_event", **given)


async def test_whole_days_end_on_their_last_day(on: Office) -> None:
    await on.call("create_event", title="Holiday", start="2026-12-24", end="2026-12-26")
    (found,) = await listed(on, "2026-12-26")
    assert (found["start"], found["end"], found["all day"]) == ("Thu 2026-12-24", "Sat 2026-12-26", True)
    assert await listed(on, "2026-12-27") == []
    with pytest.raises(ToolFailed, match="a time, or neither"):
        await on.call("update_event", id=found["id"], end="2026-12-26T10:00")


async def test_a_repeated_event_keeps_its_hour_when_the_clocks_change(on: Office) -> None:
    await on.call("create_event", title="Team", start="2026-03-20T09:00", repeat="weekly")
    march = await listed(on, "2026-03-20", "2026-04-03")
    assert times(march) == ["2026-03-20 09:00 Team", "2026-03-27 09:00 Team", "2026-04-03 09:00 Team"]
    autumn = await listed(on, "2026-10-23", "2026-10-30")
    assert times(autumn) == ["2026-10-23 09:00 Team", "2026-10-30 09:00 Team"]
    elsewhere = json.loads(await on.call("list_events", zone="America/New_York", start="2026-03-20", end="2026-03-28"))
    assert times(elsewhere["events"]) == ["2026-03-20 04:00 Team", "2026-03-27 04:00 Team"]


async def test_one_of_several_repetitions_changes_or_goes(on: Office) -> None:
    await on.call("create_event", title="Team", start="2026-11-24T09:00", repeat="FREQ=WEEKLY;COUNT=4")
    first, second, third, fourth = await listed(on, "2026-11-24", "2026-12-31")
    await on.call("update_event", id=second["id"], start="2026-12-01T14:00", title="Team, later")
    await on.call("delete_event", id=third["id"])
    now = await listed(on, "2026-11-24", "2026-12-31")
    assert times(now) == ["2026-11-24 09:00 Team", "2026-12-01 14:00 Team, later", "2026-12-15 09:00 Team"]
    assert [each["id"] for each in now] == [first["id"], second["id"], fourth["id"]], "ids stay"
    with pytest.raises(ToolFailed, match="no such event"):
        await on.call("delete_event", id=third["id"])
    await on.call("delete_event", id=second["id"])
    await on.call("update_event", id=fourth["id"], start="2026-12-15T10:30", series=True)
    assert times(await listed(on, "2026-11-24", "2026-12-31")) == ["2026-11-24 10:30 Team", "2026-12-15 10:30 Team"]
    assert "with all its repetitions" in str(await on.asks("delete_event", id=first["id"], series=True))
    (first, _) = await listed(on, "2026-11-24", "2026-12-31")
    await on.call("delete_event", id=first["id"], series=True)
    assert await listed(on, "2026-11-24", "2026-12-31") == []


async def test_an_id_without_a_repetition_is_the_whole_series(on: Office) -> None:
    made = json.loads(await on.call("create_event", title="Gym", start="2026-11-24T09:00", repeat="weekly"))["created"]
    assert made["repeats"]
    asked = await on.asks("delete_event", id=made["id"])
    assert asked == "This deletes “`Gym`” (2026-11-24 09:00) with all its repetitions from your calendar."
    second = (await listed(on, "2026-12-01"))[0]
    assert "repetitions" not in str(await on.asks("delete_event", id=second["id"]))
    assert await on.asks("delete_event", id=second["id"], series=True) == asked
    guest: dict[str, Any] = {"attendees": ["bob@example.com"]}
    asked = await on.asks("update_event", "de", id=made["id"], **guest)
    assert str(asked).startswith("Das ändert „`Gym`“ (24.11.2026 09:00) mit allen Wiederholungen. Eingeladen sind")
    assert "repetitions" not in str(await on.asks("update_event", id=second["id"], **guest))
    await on.call("update_event", id=made["id"], confirmed=str(asked), **guest)
    assert [each["attendees"] for each in await listed(on, "2026-11-24", "2026-12-01")] == [guest["attendees"]] * 2
    asked = await on.asks("delete_event", id=made["id"])
    assert "`bob@example.com` are invited" in str(asked)
    await on.call("delete_event", id=made["id"], confirmed=str(asked))
    assert await listed(on, "2026-11-24", "2026-12-31") == []


TEAM = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:w\r\nDTSTAMP:20261101T000000Z\r\n"
    "DTSTART:20261124T100000Z\r\nRRULE:FREQ=DAILY;COUNT=3\r\nSUMMARY:Team\r\n{all}END:VEVENT\r\nBEGIN:VEVENT\r\nUID:w\r\n"
    "DTSTAMP:20261101T000000Z\r\nDTSTART:20261125T110000Z\r\nRECURRENCE-ID:20261125T100000Z\r\nSUMMARY:Late\r\n{one}"
    "END:VEVENT\r\nEND:VCALENDAR\r\n"
)
BOB, EVE = "ATTENDEE:mailto:bob@example.org\r\n", "ATTENDEE:mailto:eve@example.org\r\n"


@pytest.mark.parametrize(
    ("guests", "named", "alone"),
    [((BOB, ""), ["bob"], []), (("", EVE), ["eve"], ["eve"]), ((BOB, EVE), ["bob", "eve"], ["eve"])],
)
async def test_all_who_are_invited_to_a_series_count(
    on: Office, guests: tuple[str, str], named: list[str], alone: list[str]
) -> None:
    on.server.put("/ann/home/w.ics", TEAM.format(all=guests[0], one=guests[1]))
    ids = [each["id"] for each in await listed(on, "2026-11-24", "2026-11-26")]
    assert len(ids) == 3

    async def told(tool: str, identity: str, **more: Any) -> list[str]:
        asked = str(await on.asks(tool, id=identity, **more))
        return [name for name in ("bob", "eve") if f"`{name}@example.org`" in asked]

    for tool, change in (("update_event", {"title": "Moved"}), ("delete_event", {})):
        assert await told(tool, "home/w.ics", **change) == named
        for identity in ids:
            assert await told(tool, identity, series=True, **change) == named
        assert await told(tool, ids[1], **change) == alone
    await on.call("update_event", id=ids[0], series=True, title="Moved")
    assert [each.name for each in on.sent] == ["invitation.ics"]


async def test_a_series_ends_at_another_time_of_day(on: Office) -> None:
    await on.call("create_event", title="Team", start="2026-11-24T09:00", repeat="FREQ=WEEKLY;COUNT=4")
    third = (await listed(on, "2026-11-24", "2026-12-31"))[2]
    await on.call("update_event", id=third["id"], end="2026-12-08T11:00", series=True)
    found = await listed(on, "2026-11-24", "2026-12-31")
    assert [(each["start"][4:], each["end"][4:]) for each in found] == [
        (f"{day} 09:00", f"{day} 11:00") for day in ("2026-11-24", "2026-12-01", "2026-12-08", "2026-12-15")
    ]
    for wrong, told in (("2026-12-08T08:00", "must be after the start"), ("2026-12-08", "a time, or neither")):
        with pytest.raises(ToolFailed, match=told):
            await on.call("update_event", id=third["id"], end=wrong, series=True)
    assert await listed(on, "2026-11-24", "2026-12-31") == found


@pytest.mark.parametrize(
    ("identity", "changes", "expected"),
    [
        ("fl.ics", {"end": "2026-12-04T16:00"}, "04 10:00 to 04 16:00"),
        ("fl.ics", {"end": "2026-12-04T15:00+00:00"}, "04 10:00 to 04 16:00"),
        ("fl.ics", {"start": "2026-12-04T09:00"}, "04 09:00 to 04 10:00"),
        ("fl.ics", {"start": "2026-12-04T09:00", "end": "2026-12-04T16:00"}, "04 09:00 to 04 16:00"),
        ("daily.ics", {"end": "2026-12-04T16:00"}, "04 10:00 to 04 16:00, 05 10:00 to 05 16:00"),
        ("daily.ics#20261205T100000", {"end": "2026-12-05T16:00"}, "04 10:00 to 04 11:00, 05 10:00 to 05 16:00"),
        ("daily.ics#20261205T100000", {"start": "2026-12-05T12:00"}, "04 10:00 to 04 11:00, 05 12:00 to 05 13:00"),
    ],
)
async def test_an_event_without_a_zone_stays_so(
    on: Office, identity: str, changes: dict[str, Any], expected: str
) -> None:
    name = identity.partition("#")[0]
    rule = "RRULE:FREQ=DAILY;COUNT=2\r\n" * name.startswith("daily")
    times = f"DTSTART:20261204T100000\r\nDTEND:20261204T110000\r\n{rule}SUMMARY:Odd\r\n"
    begin = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:odd\r\nDTSTAMP:20261101T000000Z\r\n"
    on.server.put(f"/ann/home/{name}", f"{begin}{times}END:VEVENT\r\nEND:VCALENDAR\r\n")
    await on.call("update_event", id=f"home/{identity}", **changes)
    found = await listed(on, "2026-12-04", "2026-12-06")
    assert ", ".join(f"{each['start'][12:]} to {each['end'][12:]}" for each in found) == expected
    assert "TZID" not in on.server.stored("/ann/home/")
    with pytest.raises(ToolFailed, match="must be after the start"):
        await on.call("update_event", id=f"home/{identity}", end="2026-12-04T08:00")


async def test_an_entry_whose_zone_is_a_folder_hides_no_others(on: Office) -> None:
    on.server.put("/ann/home/w.ics", LUNCH.format(start="20261124T100000Z", title="Fine", guest="bob@example.org"))
    odd = LUNCH.format(start="20261124T110000", title="Odd", guest="bob@example.org").replace("UID:w", "UID:odd")
    on.server.put("/ann/home/odd.ics", odd.replace("DTSTART:", "DTSTART;TZID=America:"))
    assert sorted(times(await listed(on, "tomorrow"))) == ["2026-11-24 11:00 Fine", "2026-11-24 11:00 Odd"]
    await on.call("update_event", id="home/odd.ics", title="Less odd")
    assert len(await listed(on, "tomorrow", query="less odd")) == 1


async def test_inviting_asks_and_attaches_the_invitation(on: Office) -> None:
    people: dict[str, Any] = {"attendees": ["bob@example.com"]}
    assert await on.asks("create_event", title="Plain", start="tomorrow") is None
    asked = await on.asks("create_event", title="Lunch", start="tomorrow", **people)
    assert asked == (
        "This puts “`Lunch`” into your calendar and invites `bob@example.com`; your server may send them an email."
    )
    assert isinstance(asked, Preview)
    assert asked.fixed == {"start": "2026-11-24"}, "also if the button is pressed after midnight"
    made = json.loads(await on.call("create_event", title="Lunch", start="tomorrow 12:00", **people))
    assert "invitation.ics" in made["attached"]
    (invitation,) = on.sent
    assert invitation.name == "invitation.ics"
    assert b"METHOD:REQUEST" in invitation.data
    assert b"mailto:bob@example.com" in invitation.data
    identity = made["created"]["id"]
    assert "`bob@example.com` are invited" in str(await on.asks("update_event", id=identity, title="Late lunch"))
    plain = json.loads(await on.call("create_event", title="Alone", start="tomorrow 14:00"))["created"]
    assert await on.asks("update_event", id=plain["id"], title="Still alone") is None
    assert "carol@example.com" in str(await on.asks("update_event", id=plain["id"], attendees=["carol@example.com"]))
    for wrong in ("bob", "bob@example", "a b@example.com", "x@example.com,y@example.com", "a@b.c\nATTENDEE:x"):
        with pytest.raises(ToolFailed, match="not an e-mail address"):
            await on.call("create_event", title="x", start="tomorrow", attendees=[wrong])


async def test_an_event_is_reported_though_its_invitation_cannot_be_attached(on: Office) -> None:
    files = OutgoingFiles()
    for number in range(MAX_FILES):
        files.attach(OutgoingFile(f"{number}.txt", "text/plain", b"x"))
    on.attach = files.attach
    given: dict[str, Any] = {"title": "Lunch", "start": "tomorrow 12:00", "attendees": ["bob@example.com"]}
    made = json.loads(await on.call("create_event", **given))
    assert made["created"]["title"] == "Lunch"
    assert "at most 8 files" in made["not attached"]
    changed = json.loads(await on.call("update_event", id=made["created"]["id"], title="Late lunch"))
    assert changed["changed"]["title"] == "Late lunch"
    assert "at most 8 files" in changed["not attached"]


LUNCH = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:w\r\nDTSTAMP:20261101T000000Z\r\n"
    "DTSTART:{start}\r\nSUMMARY:{title}\r\nATTENDEE:mailto:{guest}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.mark.parametrize(
    ("tool", "change", "others"),
    [
        (
            "delete_event",
            {},
            (
                {"title": "Wedding"},
                {"start": "20261125T100000Z"},
                {"guest": "eve@evil.example"},
                {"title": "Lunch\r\nRRULE:FREQ=DAILY"},
            ),
        ),
        ("update_event", {"notes": "secret plans"}, ({"title": "Wedding"}, {"guest": "eve@evil.example"})),
    ],
)
async def test_only_what_was_confirmed_happens(
    on: Office, tool: str, change: dict[str, Any], others: tuple[dict[str, str], ...]
) -> None:
    event = {"title": "Lunch", "start": "20261124T100000Z", "guest": "bob@example.org"}
    on.server.put("/ann/home/w.ics", LUNCH.format(**event))
    asked = await on.asks(tool, "de", id="home/w.ics", **change)
    assert asked is not None
    for other in others:
        on.server.put("/ann/home/w.ics", LUNCH.format(**event | other))
        before = on.server.stored("/ann/home/")
        with pytest.raises(ToolFailed, match="changed since the user confirmed"):
            await on.call(tool, confirmed=asked, id="home/w.ics", **change)
        assert on.server.stored("/ann/home/") == before
    on.server.put("/ann/home/w.ics", LUNCH.format(**event))
    before = on.server.stored("/ann/home/")
    await on.call(tool, confirmed=asked, id="home/w.ics", **change)
    assert on.server.stored("/ann/home/") != before


@pytest.mark.parametrize("field", ["title", "place", "notes"])
async def test_what_was_confirmed_is_stored_in_full_or_refused(on: Office, field: str) -> None:
    event: dict[str, Any] = {"title": "Lunch", "start": "2026-11-24T12:00", "attendees": ["bob@example.org"]}
    made = json.loads(await on.call("create_event", **event | {field: "x" * 2_000}))["created"]
    assert (before := on.server.stored("/ann/home/").replace("\r\n ", "")).count("x" * 2_000) == 1
    for name, given in (("create_event", event), ("update_event", {"id": made["id"]})):
        for work in (on.asks, on.call):
            with pytest.raises(ToolFailed, match=f"`{field}` has 2,001 characters, and at most 2,000 are allowed"):
                await work(name, **given | {field: "y" * 2_001})
    assert on.server.stored("/ann/home/").replace("\r\n ", "") == before


async def test_a_question_names_all_who_are_invited(on: Office) -> None:
    people = [f"somebody.with.a.long.name.{number}@example.com" for number in range(12)]
    asked = str(await on.asks("create_event", title="Party", start="tomorrow", attendees=people))
    assert all(each in asked for each in people)


async def test_free_time_leaves_out_what_is_busy(on: Office) -> None:
    await on.call("create_event", title="Meeting", start="2026-11-24T10:00", end="2026-11-24T16:00")
    found = json.loads(await on.call("find_free_time", start="tomorrow"))
    assert found["free"] == ["Tue 2026-11-24 09:00 to 10:00", "Tue 2026-11-24 16:00 to 18:00"]
    found = json.loads(await on.call("find_free_time", start="tomorrow", minutes=90, to_hour=20))
    assert found["free"] == ["Tue 2026-11-24 16:00 to 20:00"]
    found = json.loads(await on.call("find_free_time", start="2026-12-01", end="2027-01-20"))
    assert len(found["free"]) == 40
    assert found["left out"] == "11 later ones: ask for a shorter time"
    with pytest.raises(ToolFailed, match="from_hour must be before"):
        await on.call("find_free_time", start="tomorrow", from_hour=18, to_hour=9)


async def test_events_are_found_by_words_and_in_a_calendar(on: Office) -> None:
    on.server.calendar(name="work")
    for title, calendar in (("Team lunch", "work"), ("Lunch with Ann", ""), ("Dentist", "")):
        await on.call("create_event", title=title, start="tomorrow 12:00", calendar=calendar)
    assert {each["title"] for each in await listed(on, "tomorrow", query="LUNCH")} == {"Team lunch", "Lunch with Ann"}
    (one,) = await listed(on, "tomorrow", query="team lunch")
    assert one["calendar"] == "work"
    with pytest.raises(ToolFailed, match="There are: home, work"):
        await on.call("create_event", title="x", start="today", calendar="nowhere")


async def test_entries_that_cannot_be_read_are_left_out(on: Office) -> None:
    await on.call("create_event", title="Fine", start="tomorrow 12:00")
    begin = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:odd\r\nDTSTAMP:20261101T000000Z\r\n"
    end = "END:VEVENT\r\nEND:VCALENDAR\r\n"
    often = "DTSTART:20261124T000000Z\r\nRRULE:FREQ=SECONDLY\r\nSUMMARY:Often\r\n"
    on.server.put("/ann/home/odd.ics", begin + often + end)
    assert [each["title"] for each in await listed(on, "tomorrow")] == ["Often", "Fine"]
    added = "".join(f"RDATE:2026{at // 28 % 12 + 1:02}{at % 28 + 1:02}T{at // 336:02}0000Z\r\n" for at in range(2_100))
    on.server.put("/ann/home/odd.ics", f"{begin}DTSTART:20261124T000000Z\r\n{added}SUMMARY:Endless\r\n{end}")
    for tool in ("list_events", "find_free_time"):
        told = json.loads(await on.call(tool, start="tomorrow"))["unreadable"]
        assert told == "1 in the calendar, missing here", tool
    with pytest.raises(ToolFailed, match="is no repetition"):
        await on.call("create_event", title="x", start="today", repeat="FREQ=SECONDLY")


@pytest.mark.parametrize(
    ("start", "end", "zone"),
    [
        ("20261124T100000Z", "99991231T235959Z", "Europe/Berlin"),
        ("00010101T000000Z", "20991231T000000Z", "America/New_York"),
        ("99991231T233000Z", "99991231T235959Z", "Europe/Berlin"),
    ],
)
async def test_an_entry_with_odd_times_hides_no_others(on: Office, start: str, end: str, zone: str) -> None:
    begin = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:odd\r\nDTSTAMP:20261101T000000Z\r\n"
    entry = f"{begin}DTSTART:{start}\r\nDTEND:{end}\r\nSUMMARY:Odd\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    on.server.put("/ann/home/odd.ics", entry)
    await on.call("create_event", title="Team", start="2026-11-24T09:00")
    assert "Team" in {each["title"] for each in await listed(on, "2026-11-24", zone=zone)}
    assert json.loads(await on.call("find_free_time", zone=zone, start="2026-11-24"))["looked at"]
    assert "This deletes “`Odd`”" in str(await on.asks("delete_event", id="home/odd.ics"))
    assert await on.asks("update_event", id="home/odd.ics", title="Less odd") is None
    await on.call("update_event", id="home/odd.ics", title="Less odd")
    assert await on.call("delete_event", id="home/odd.ics") == "The event is deleted."


async def test_an_entry_whose_file_name_contains_a_number_sign_is_named(on: Office) -> None:
    begin = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nDTSTAMP:20261101T000000Z\r\n"
    end = "END:VEVENT\r\nEND:VCALENDAR\r\n"
    for uid, rule in (("once#20261124", ""), ("daily#1", "RRULE:FREQ=DAILY;COUNT=3\r\n")):
        entry = f"UID:{uid}\r\nDTSTART:20261124T110000Z\r\n{rule}SUMMARY:{uid}\r\n"
        on.server.put(f"/ann/home/{quote(uid)}.ics", begin + entry + end)
    for each in await listed(on, "tomorrow"):
        await on.call("delete_event", id=each["id"])
    assert await listed(on, "tomorrow") == []
    assert [each["title"] for each in await listed(on, "2026-11-25")] == ["daily#1"]


@pytest.mark.parametrize(
    "identity",
    ["", "..", "../ben/home/x.ics", "home/../../ben/home/secret.ics", "/ben/home/secret.ics", "home", "home/none.ics",
     "http://127.0.0.1:1/x", "home//x.ics", "home/%2e%2e/%2e%2e/ben/home/secret.ics", "home/x.ics#20261124"],
)  # fmt: skip
async def test_ids_lead_only_to_the_persons_own_events(on: Office, identity: str) -> None:
    on.server.calendar("ben")
    before = len(on.server.requests)
    with pytest.raises(ToolFailed, match="no such event"):
        await on.call("delete_event", id=identity)
    assert not [path for _, path in on.server.requests[before:] if path.startswith("/ben")]


async def test_another_person_has_no_account(on: Office) -> None:
    for name in ("list_events", "find_free_time", "create_event"):
        with pytest.raises(ToolFailed, match="No account is connected"):
            await on.call(name, BEN, start="today", **({"title": "x"} if name == "create_event" else {}))


async def test_a_wrong_password_and_a_lost_key_say_how_to_connect_again(on: Office) -> None:
    await on.connect(password="wrong")
    with pytest.raises(ToolFailed, match=r"refuses the user name or the password.*send /connect calendar"):
        await on.call("list_events")
    (on.box._path).unlink()
    on.box._fernets = []
    with pytest.raises(ToolFailed, match=r"can't be read any more.*/connect calendar"):
        await on.call("list_events")


def answering(status: str, body: bytes, kind: str = "application/xml", **more: str) -> Any:
    def fault(environ: dict[str, Any], start: Any) -> list[bytes]:
        start(status, [("Content-Type", kind), *((name.replace("_", "-"), value) for name, value in more.items())])
        return [body]

    return fault


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">%s]><x>&j;</x>' % b"".join(
    b'<!ENTITY %c "%s">' % (97 + at, (b"&%c;" % (96 + at)) * 10) for at in range(1, 10)
)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (answering("500 No", b""), r"has a problem of its own \(HTTP 500\)"),
        (answering("200 OK", b"<html>hello</html", "text/html"), "does not answer like a calendar server"),
        (answering("207 Multi", b""), "does not answer like a calendar server"),
        (answering("207 Multi", BOMB), "does not answer like a calendar server|There is no|can't be used"),
        (answering("404 No", b""), r"is not a calendar server \(HTTP 404\)"),
        (answering("302 Found", b"", Location="http://169.254.169.254/x"), "sends us to 169.254.169.254"),
        (answering("302 Found", b"", Location="/again"), "redirects too often"),
        (answering("207 Multi", b"x", Content_Encoding="gzip"), "compressed answer"),
        (answering("207 Multi", b"x" * 9_000_000), "too large"),
    ],
)  # fmt: skip
async def test_a_server_that_misbehaves_is_named(on: Office, fault: Any, told: str) -> None:
    on.server.fault = fault
    with pytest.raises(ToolFailed, match=told):
        assert await on.call("list_events") == "nothing"


async def test_a_slow_server_is_given_up(on: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def slow(environ: dict[str, Any], start: Any) -> Any:
        start("207 Multi", [("Content-Type", "application/xml")])
        yield b"<x>"
        over.wait(30)

    on.server.fault = slow
    monkeypatch.setattr(guarded_session, "REQUEST_SECONDS", 0.1)
    with pytest.raises(ToolFailed, match="does not answer in time"):
        await on.call("list_events")
    over.set()


async def test_a_server_that_is_down_is_named(on: Office) -> None:
    on.server.stop()
    with pytest.raises(ToolFailed, match="can't be reached"):
        await on.call("list_events")
