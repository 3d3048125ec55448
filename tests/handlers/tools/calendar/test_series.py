"""Repeated events: one of them or all are changed, and each keeps its own time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routing.errors import ToolFailed
from tests.handlers.tools.calendar.harness import Office, listed, times


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
