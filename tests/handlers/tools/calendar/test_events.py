"""Entries of other programs: some would keep a thread busy for ever, some have no start."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from icalendar import Calendar, timezone

from handlers.tools.calendar import events
from handlers.tools.calendar.editing import Changes, change, for_series, invitation, read_rule, written
from handlers.tools.calendar.limits import MAX_ZONE_CHANGES, read_lines
from handlers.tools.calendar.times import moment
from routing.errors import ToolFailed

BERLIN = ZoneInfo("Europe/Berlin")
CPU_SECONDS = 30
HOURS, MINUTES = (",".join(map(str, range(most))) for most in (24, 60))
EVERY_DAY = "RRULE:FREQ=YEARLY;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12;BYDAY=MO,TU,WE,TH,FR,SA,SU"
ZONE_RULES = (
    "RRULE:FREQ=SECONDLY",
    EVERY_DAY,
    "RRULE:FREQ=DAILY;INTERVAL=0",
    "RRULE:FREQ=SEC\r\n ONDLY",
    "EXRULE:FREQ=SECONDLY",
    f"RRULE:FREQ=YEARLY;BYMONTHDAY={','.join(map(str, range(1, 32)))}",
)
EVENTS = (
    "DTSTART:20261124T000000Z\r\nRRULE:FREQ=DAILY;INTERVAL=0",
    f"DTSTART:20261124T000000Z\r\nRRULE:FREQ=DAILY;BYHOUR={HOURS};BYMINUTE={MINUTES};BYSECOND={MINUTES}",
    f"DTSTART:00010101T000000Z\r\nRRULE:FREQ=DAILY;BYHOUR={HOURS}",
    f"DTSTART:00010101T000000Z\r\nRRULE:FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR={HOURS}",
    f"DTSTART:19000101T000000Z\r\nDTEND:20991231T000000Z\r\nRRULE:FREQ=DAILY;BYHOUR={HOURS}",
    "DTSTART:20261124T100000Z\r\nDTEND:00010101T000000Z\r\nRRULE:FREQ=DAILY;COUNT=1",
    "DTSTART:20261124T100000Z\r\nDURATION:-P999999D\r\nRRULE:FREQ=DAILY;COUNT=1",
    f"DTSTART:20261124T100000Z\r\nRDATE:{','.join(['20261124T100000Z'] * 10_000)}",
    "DTSTART:20261124T100000Z" + "\r\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31" * 10,
    "DTSTART:20261124T100000Z" + "\r\nATTENDEE:mailto:bob@example.org" * 25_000,
    "DTSTART:20261124T100000Z" + "\r\nBEGIN:VALARM" * 5_000 + "\r\nEND:VALARM" * 5_000,
    "DTSTART:20261124T100000Z\r\nBEGIN:VTIMEZONE" + "\r\nBEGIN:STANDARD\r\nEND:STANDARD" * 1_000 + "\r\nEND:VTIMEZONE",
)
DAY = "2026-11-24"
LISTED = (DAY, DAY, "", "", "1900-01-01", DAY, DAY, "", DAY, "", DAY, "")
"""Their days. What is too large is left out."""
ZONED = "DTSTART;TZID=Odd:20261124T120000\r\nRRULE:FREQ=DAILY;COUNT=1"
BROKEN = ("20261124T000000Z\r\nRRULE:FREQ=DAILY;INTERVAL=x", "20261124T000000Z\r\nRRULE:FREQ=NEVER", "20261324T000000Z")
PROGRAM = """
import json, sys
from datetime import UTC, date, datetime, timedelta
from typing import Any
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo
from handlers.tools.calendar import events
day = datetime(2026, 11, 24, tzinfo=UTC)
for text in json.load(sys.stdin):
    entry = events.parse(text)
    found = events.occurrences(entry, day, day + timedelta(days=400), ZoneInfo("UTC")) if entry else ()
    print(*(f"{each.title} {each.start:%Y-%m-%d}" for each in found or ()), sep=", ")
"""


def repetitions(*given: Any) -> list[events.Occurrence]:
    return events.occurrences(*given) or []


@pytest.mark.parametrize("rule", ["FREQ=FOO", "FREQ=DAILY;INTERVAL=x"])
def test_the_repetitions_of_an_unreadable_rule_are_unknown(rule: str) -> None:
    parsed = events.parse(entry(f"DTSTART:20261124T100000Z\r\nRRULE:{rule}"))
    assert parsed is not None
    first = datetime(2026, 11, 24, tzinfo=UTC)
    assert events.occurrences(parsed, first, first + timedelta(days=1), ZoneInfo("UTC")) is None


def entry(event: str, zone_rule: str = "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU") -> str:
    changes = "".join(
        f"BEGIN:{name}\r\nDTSTART:{first}T000000\r\nTZOFFSETFROM:+0{to}00\r\nTZOFFSETTO:+0{at}00\r\n{zone_rule}\r\n"
        f"END:{name}\r\n"
        for name, first, to, at in (("STANDARD", 19700101, 2, 1), ("DAYLIGHT", 19700601, 1, 2))
    )
    return (
        f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTIMEZONE\r\nTZID:Odd\r\n{changes}END:VTIMEZONE\r\n"
        f"BEGIN:VEVENT\r\nUID:odd\r\n{event}\r\nSUMMARY:Odd\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )


def zoned(offset: str, name: str = "Customized Time Zone", define: bool = True, first: bool = True) -> str:
    zone = (
        f"BEGIN:VTIMEZONE\r\nTZID:{name}\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\n"
        f"TZOFFSETFROM:{offset}\r\nTZOFFSETTO:{offset}\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    )
    event = (
        f"BEGIN:VEVENT\r\nUID:zoned\r\nDTSTART;TZID={name}:20261124T120000\r\nRRULE:FREQ=DAILY;COUNT=5\r\n"
        f"RDATE;TZID={name}:20261224T120000\r\nEXDATE;TZID={name}:20261125T120000,20261126T120000\r\nEND:VEVENT\r\n"
        f"BEGIN:VEVENT\r\nUID:zoned\r\nDTSTART;TZID={name}:20261127T140000\r\n"
        f"RECURRENCE-ID;TZID={name}:20261127T120000\r\nEND:VEVENT\r\n"
    )
    parts = (zone * define, event) if first else (event, zone * define)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{''.join(parts)}END:VCALENDAR\r\n"


@pytest.mark.parametrize("name", ["Customized Time Zone", "W. Europe Standard Time", "/mine/Zone"])
def test_the_times_of_an_entry_are_in_the_zones_that_it_defines_itself(name: str) -> None:
    for offset, hour in (("+0100", 11), ("+0500", 7), ("-0800", 20)):
        for first in (True, False):
            parsed = events.parse(zoned(offset, name, first=first))
            assert parsed is not None
            change(parsed, "20261128T120000", Changes("New"), "")
            for calendar in (parsed, events.parse(written(parsed).decode()), events.parse(invitation(parsed).decode())):
                assert calendar is not None
                start = datetime(2026, 11, 24, tzinfo=UTC)
                found = repetitions(calendar, start, start + timedelta(days=40), ZoneInfo("UTC"))
                assert sorted(f"{moment(each.start, ZoneInfo('UTC')):%m-%d %H}" for each in found) == [
                    f"11-24 {hour:02}", f"11-27 {hour + 2:02}", f"11-28 {hour:02}", f"12-24 {hour:02}"
                ]  # fmt: skip
    assert timezone.tzp.timezone("Customized Time Zone") is None, "the library keeps none for later entries"


def test_an_entry_gets_no_zone_of_another_one() -> None:
    assert events.parse(zoned("+0100", "Elsewhere")) is not None
    parsed = events.parse(zoned("+0100", "Elsewhere", define=False))
    assert parsed is not None
    assert events.find(parsed, "", ZoneInfo("UTC")).start == datetime(2026, 11, 24, 12)
    assert b"VTIMEZONE" not in written(parsed)


@pytest.mark.parametrize("name", ["America", "Europe", "x" * 300, "Nowhere"])
@pytest.mark.parametrize(
    "lines",
    [
        "DTSTART;TZID={zone}:20261124T100000",
        "DTSTART;TZID={zone};VALUE=DATE:20261124",
        "DTSTART:20261124T100000\r\nRRULE:FREQ=DAILY\r\nEXDATE;TZID={zone}:20261125T100000",
        "DTSTART:20261124T100000\r\nCATEGORIES;TZID={zone}:Tea",
        "DTSTART:20261124T100000Z\r\nEND:VEVENT\r\nX-WR-TIMEZONE:{zone}\r\nBEGIN:VEVENT\r\nUID:other\r\nDTSTART:20261130T100000Z",
    ],
)
def test_an_entry_with_an_unknown_zone_is_listed_and_changed(name: str, lines: str) -> None:
    first, text = at("11-24", 0), entry(f"{lines.format(zone=name)}\r\nATTENDEE;TZID=Europe/Berlin:mailto:a@b.example")
    parsed = events.parse(text)
    assert parsed is not None
    (found,) = repetitions(parsed, first, first + timedelta(days=1), BERLIN)
    assert f"{found.start:%m-%d}" == "11-24"
    change(parsed, "", Changes("New"), "")
    assert b"TZID:Europe/Berlin" in written(parsed), "known zones are still added"


def test_rules_of_time_zones_are_found_behind_parameters_and_counted() -> None:
    zone = "BEGIN:VTIMEZONE\r\nBEGIN;X={more}:STANDARD\r\n{rules}END:STANDARD\r\nEND:VTIMEZONE\r\n"
    assert "SECONDLY" not in read_lines(zone.format(more="a" * 60, rules="RRULE:FREQ=SECONDLY\r\n"))
    with pytest.raises(ValueError, match="too large"):
        read_lines(zone.format(more="a", rules="RRULE:FREQ=YEARLY\r\n" * MAX_ZONE_CHANGES))


def test_no_entry_takes_for_ever() -> None:
    hostile = [*(entry(event) for event in EVENTS), *(entry(ZONED, rule) for rule in ZONE_RULES)]
    broken = [entry(f"DTSTART:{event}") for event in BROKEN]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([*hostile, *broken]),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)),
    )
    assert done.returncode == 0, done.stderr[-500:] or "more than the CPU time that is allowed"
    assert done.stdout.split("\n")[:-1] == [
        f"Odd {day}" if day else "" for day in (*LISTED, *[DAY] * len(ZONE_RULES), "", "", "")
    ]


@pytest.mark.parametrize("rule", ["FREQ=DAILY;INTERVAL=0", f"FREQ=DAILY;BYHOUR={HOURS};BYMINUTE=0,1"])
def test_no_such_rule_is_written(rule: str) -> None:
    with pytest.raises(ToolFailed, match="is no repetition"):
        read_rule(rule)


def test_an_entry_without_a_start_cannot_be_changed() -> None:
    found = events.parse(entry("DTSTAMP:20261101T000000Z"))
    assert found is not None
    for work in (lambda: events.find(found, "", ZoneInfo("UTC")), lambda: change(found, "", Changes("New"), "")):
        with pytest.raises(ToolFailed, match="can't be changed here"):
            work()


@pytest.mark.parametrize(
    "lines",
    [
        "DTSTART:20261124T100000Z\r\nDTEND:99991231T235959Z",
        "DTSTART:20261124T100000Z\r\nDURATION:P2900000D",
        "DTSTART:20261124T100000Z\r\nDTEND:20261329T000000Z",
        "DTSTART:20261124T100000Z\r\nDURATION:x",
        "DTSTART:20261124T100000Z\r\nDTEND:20261124T110000Z\r\nDTEND:20261124T120000Z",
        "DTSTART;VALUE=DATE:20261124\r\nDTEND;VALUE=DATE:99991231\r\nRRULE:FREQ=YEARLY",
        "DTSTART:00010317T100000Z\r\nRRULE:FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=24",
    ],
)
def test_an_event_with_an_odd_time_is_listed_found_and_changed(lines: str) -> None:
    zone, text = ZoneInfo("Europe/Berlin"), entry(lines)
    first = datetime(2026, 11, 24, tzinfo=zone)
    parsed = events.parse(text)
    assert parsed is not None
    (listed,) = repetitions(parsed, first, first + timedelta(days=1), zone)
    assert f"{listed.start:%m-%d}" == "11-24"
    parsed = events.parse(text)
    assert parsed is not None
    for found in (listed, events.find(parsed, "", zone)):
        begins, ends = found.span(zone)
        assert begins <= ends
    change(parsed, "", Changes("New"), "")
    assert events.find(parsed, "", zone).title == "New"


def test_a_series_since_long_ago_is_listed() -> None:
    zone = ZoneInfo("UTC")
    first = datetime(2026, 11, 24, tzinfo=zone)
    for lines in ("DTSTART:19000101T100000Z\r\nRRULE:FREQ=DAILY", "DTSTART:16010102T100000Z\r\nRRULE:FREQ=WEEKLY"):
        parsed = events.parse(entry(lines))
        assert parsed is not None
        assert len(repetitions(parsed, first, first + timedelta(days=7), zone)) == (7 if "DAILY" in lines else 1)


def test_a_repetition_that_moved_to_the_end_of_time_is_sorted_among_others() -> None:
    zone = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 11, 24, tzinfo=zone)
    lines = "DTSTART:99991231T235959Z\r\nDTEND:20261124T100000Z\r\nRECURRENCE-ID:20261124T100000Z"
    parsed = events.parse(entry(lines))
    assert parsed is not None
    for each in repetitions(parsed, first, datetime.max.replace(tzinfo=zone), zone):
        assert each.span(zone)


def moved(lines: str, start: date, recurrence_id: str = "") -> Calendar:
    """The entry after a repetition of it, or the first, moved to `start` with all others."""
    parsed = events.parse(entry(lines))
    assert parsed is not None
    change(parsed, "", for_series(parsed, recurrence_id, Changes(start=start), BERLIN), "")
    found = events.parse(written(parsed).decode())
    assert found is not None
    return found


def at(day: str, hour: int) -> datetime:
    return datetime.fromisoformat(f"2026-{day}T{hour:02}:00").replace(tzinfo=BERLIN)


MORNING, NEW_YORK = "DTSTART;TZID=Europe/Berlin:20261020T090000", "DTSTART;TZID=America/New_York:20261020T090000"
DAILY = f"{MORNING}\r\nRRULE:FREQ=DAILY;UNTIL=20261024T070000Z"
WHOLE = "DTSTART;VALUE=DATE:20261020\r\nRRULE:FREQ=DAILY;UNTIL=20261022"


@pytest.mark.parametrize(
    ("lines", "start", "expected"),
    [
        (DAILY, at("10-20", 11), "20 11, 21 11, 22 11, 23 11, 24 11"),
        (DAILY, at("10-20", 7), "20 07, 21 07, 22 07, 23 07, 24 07"),
        (DAILY, at("10-22", 9), "22 09, 23 09, 24 09, 25 09, 26 09"),
        (DAILY, at("10-19", 9), "19 09, 20 09, 21 09, 22 09, 23 09"),
        (f"{MORNING}\r\nRRULE:FREQ=DAILY;UNTIL=20261023", at("10-20", 7), "20 07, 21 07, 22 07"),
        (f"{MORNING}\r\nRRULE:FREQ=WEEKLY;UNTIL=99991231T235959Z", at("10-20", 11), "20 11, 27 11"),
        (WHOLE, date(2026, 10, 22), "22 00, 23 00, 24 00"),
        (f"{DAILY}\r\nEXDATE:20261021T070000Z\r\nEXDATE;VALUE=DATE:20261023", at("10-20", 7), "20 07, 22 07, 24 07"),
        (f"{WHOLE}\r\nEXDATE;VALUE=DATE:20261021", date(2026, 10, 21), "21 00, 23 00"),
        (
            f"{MORNING}\r\nRDATE;TZID=Europe/Berlin:20261021T090000,20261022T140000\r\n"
            "RDATE;VALUE=PERIOD:20261026T080000Z/PT2H,20261027T080000Z/20261027T100000Z",
            at("10-20", 11),
            "20 11, 21 11, 22 16, 26 11, 27 11",
        ),
        (f"{WHOLE}\r\nRDATE;VALUE=DATE:20261025", date(2026, 10, 21), "21 00, 22 00, 23 00, 26 00"),
        (
            f"{NEW_YORK}\r\nRRULE:FREQ=WEEKLY;COUNT=3\r\nEXDATE;TZID=America/New_York:20261103T090000",
            at("10-20", 16),
            "20 16, 27 15",
        ),
    ],
)
def test_a_series_moves_with_its_end_and_all_that_is_added_or_removed(lines: str, start: date, expected: str) -> None:
    first = at("10-01", 0)
    found = repetitions(moved(lines, start), first, first + timedelta(days=31), BERLIN)
    assert ", ".join(sorted(f"{moment(each.start, BERLIN):%d %H}" for each in found)) == expected


def test_a_changed_repetition_keeps_the_range_of_its_changes() -> None:
    later = "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261021T090000\r\nSUMMARY:Late\r\n"
    changed = f"\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:odd\r\n{MORNING.replace('1020', '1021')}\r\n{later}"
    found: Any = moved(DAILY + changed, at("10-20", 11)).walk("VEVENT")[1]["RECURRENCE-ID"]
    assert (found.dt, found.params["RANGE"]) == (at("10-21", 11), "THISANDFUTURE")


@pytest.mark.parametrize(
    ("lines", "start", "told"),
    [
        (f"{MORNING}\r\nRRULE:FREQ=DAILY;BYHOUR=9,15", at("10-20", 11), "repeats at fixed times"),
        (f"{MORNING}\r\nRRULE:FREQ=WEEKLY;BYDAY=TU", at("10-21", 9), "repeats on fixed days"),
        (f"{MORNING}\r\nRRULE:FREQ=YEARLY;BYYEARDAY=293", at("10-21", 9), "repeats on fixed days"),
        (DAILY, date(2026, 10, 20), "between a whole day and a time"),
        (WHOLE, at("10-20", 9), "between a whole day and a time"),
        (f"{DAILY}\r\nRDATE:x", at("10-20", 11), "can't be changed here"),
        *(
            (f"{MORNING}\r\nRRULE:{rule}", at("10-20", 11), "can't be read")
            for rule in ("FREQ=DAILY;UNTIL=xx", "FREQ=DAILY;UNTIL=20261301T000000Z", "FREQ=NEVER")
        ),
    ],
)
def test_a_series_that_cannot_move_is_left_alone(lines: str, start: date, told: str) -> None:
    with pytest.raises(ToolFailed, match=told):
        moved(lines, start)
