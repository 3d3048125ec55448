"""The calendar's tools against a real server: events are created, read, changed and deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handlers.tools.calendar.server import MAX_IDS
from routing.errors import ToolFailed
from tests.handlers.tools.calendar.harness import Office, listed, times


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
