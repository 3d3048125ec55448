"""What the person confirms, and the people who are invited with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handlers.outgoing import MAX_FILES, OutgoingFiles
from handlers.tools.authoring.tool import Preview
from routing.errors import ToolFailed
from routing.types.messages import OutgoingFile
from tests.handlers.tools.calendar.harness import LUNCH, Office


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
