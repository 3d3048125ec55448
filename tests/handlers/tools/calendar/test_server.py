"""Odd entries on a real server, accounts that can't be used, and servers that misbehave."""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.parse import quote

import pytest

from handlers.accounts import guarded_session
from routing.errors import ToolFailed
from tests.handlers.tools.calendar.harness import BEN, LUNCH, Office, listed, times


async def test_an_entry_whose_zone_is_a_folder_hides_no_others(on: Office) -> None:
    on.server.put("/ann/home/w.ics", LUNCH.format(start="20261124T100000Z", title="Fine", guest="bob@example.org"))
    odd = LUNCH.format(start="20261124T110000", title="Odd", guest="bob@example.org").replace("UID:w", "UID:odd")
    on.server.put("/ann/home/odd.ics", odd.replace("DTSTART:", "DTSTART;TZID=America:"))
    assert sorted(times(await listed(on, "tomorrow"))) == ["2026-11-24 11:00 Fine", "2026-11-24 11:00 Odd"]
    await on.call("update_event", id="home/odd.ics", title="Less odd")
    assert len(await listed(on, "tomorrow", query="less odd")) == 1


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
