"""Entries of other programs: some would keep a thread busy for ever, some have no start."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from zoneinfo import ZoneInfo

import pytest

from handlers.tools.calendar import events
from handlers.tools.calendar.editing import Changes, change, read_rule
from routing.errors import ToolFailed

CPU_SECONDS = 30
HOURS, MINUTES = (",".join(map(str, range(most))) for most in (24, 60))
ZONE_RULES = ("RRULE:FREQ=SECONDLY", "RRULE:FREQ=DAILY;INTERVAL=0", "RRULE:FREQ=SEC\r\n ONDLY", "EXRULE:FREQ=SECONDLY")
EVENTS = (
    "DTSTART:20261124T000000Z\r\nRRULE:FREQ=DAILY;INTERVAL=0",
    f"DTSTART:20261124T000000Z\r\nRRULE:FREQ=DAILY;BYHOUR={HOURS};BYMINUTE={MINUTES};BYSECOND={MINUTES}",
    f"DTSTART:00010101T000000Z\r\nRRULE:FREQ=DAILY;BYHOUR={HOURS}",
    *("DTSTART;TZID=Odd:20261124T120000\r\nRRULE:FREQ=DAILY;COUNT=1" for _ in ZONE_RULES),
)
BROKEN = ("20261124T000000Z\r\nRRULE:FREQ=DAILY;INTERVAL=x", "20261124T000000Z\r\nRRULE:FREQ=NEVER", "20261324T000000Z")
PROGRAM = """
import json, sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo
from handlers.tools.calendar import events
day = datetime(2026, 11, 24, tzinfo=UTC)
for text in json.load(sys.stdin):
    entry = events.parse(text)
    found = events.occurrences(entry, day, day + timedelta(days=400), ZoneInfo("UTC")) if entry else ()
    print(*(f"{each.title} {each.start:%Y-%m-%d}" for each in found), sep=", ")
"""


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


def test_no_entry_takes_for_ever() -> None:
    rules = ("RRULE:FREQ=YEARLY", "RRULE:FREQ=YEARLY", "RRULE:FREQ=YEARLY", *ZONE_RULES)
    hostile = [entry(event, rule) for event, rule in zip(EVENTS, rules, strict=True)]
    broken = [entry(f"DTSTART:{event}") for event in BROKEN]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([*hostile, *broken]),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)),
    )
    assert done.returncode == 0, done.stderr[-500:] or "more than the CPU time that is allowed"
    assert done.stdout.split("\n")[:-1] == ["Odd 2026-11-24", "Odd 2026-11-24", "", *["Odd 2026-11-24"] * 4, "", "", ""]


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
