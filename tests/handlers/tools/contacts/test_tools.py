"""The tools for contacts against a real server: create, find, change, delete, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handlers.tools.authoring.decorator import tools_of
from handlers.tools.contacts.tools import ContactTools
from routing.errors import ToolFailed
from tests.handlers.tools.calendar.harness import BEN, Office, office

CARD = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nN:{name};;;;\r\n{more}END:VCARD\r\n"


@pytest.fixture
async def on(in_memory: Path) -> AsyncIterator[Office]:
    async with office(in_memory, connected=False) as made:
        made.server.address_book()
        made.tools = {each.name: each for each in tools_of(ContactTools(made.accounts, made.dav))}
        await made.connect("contacts")
        yield made


async def found(on: Office, query: str) -> list[dict[str, Any]]:
    contacts: list[dict[str, Any]] = json.loads(await on.call("find_contact", query=query))["contacts"]
    return contacts


async def test_a_contact_is_created_found_changed_and_deleted(on: Office) -> None:
    details: dict[str, Any] = {"phones": ["+49 30 123-456"], "emails": ["bob@example.com"], "birthday": "1990-05-17"}
    made = json.loads(await on.call("create_contact", name="Bob Müller", company="Siemens; AG", **details))["created"]
    assert made["name"] == "Bob Müller"
    for query in ("bob", "MÜLLER", "siemens", "bob@example", "123456", "bob siemens"):
        assert await found(on, query) == [made], query
    assert made | details == made | {"phones": ["+49 30 123-456"], "emails": ["bob@example.com"]}
    assert made["company"] == "Siemens; AG"
    assert await found(on, "bob nobody") == []
    await on.call("update_contact", id=made["id"], phones=["030 9", "030 8"], address="Main St 5, Berlin")
    (changed,) = await found(on, "bob")
    assert changed["phones"] == ["030 9", "030 8"]
    assert changed["emails"] == made["emails"]
    assert "Main St 5, Berlin" in changed["address"]
    assert await on.asks("delete_contact", id=made["id"]) == "This deletes `Bob Müller` from your address book."
    assert "aus deinem Adressbuch" in str(await on.asks("delete_contact", "de", id=made["id"]))
    assert await on.call("delete_contact", id=made["id"]) == "The contact is deleted."
    assert await found(on, "bob") == []
    with pytest.raises(ToolFailed, match="no such contact"):
        await on.call("update_contact", id=made["id"], name="x")


async def test_what_the_tools_do_not_show_is_kept(on: Office) -> None:
    photo = "PHOTO;ENCODING=b;TYPE=JPEG:aGVsbG8=\r\nX-CUSTOM:kept\r\n"
    on.server.put("/ann/people/c.vcf", CARD.format(uid="c", name="Carla", more=photo))
    await on.call("update_contact", id="people/c.vcf", notes="met in\nRome", emails=["c@example.com"])
    stored = on.server.stored("/ann/people/c.vcf")
    assert "aGVsbG8=" in stored
    assert "X-CUSTOM:kept" in stored
    assert (await found(on, "rome"))[0]["notes"] == "met in Rome"


async def test_what_is_given_as_it_is_shown_keeps_its_labels_and_parts(on: Office) -> None:
    more = (
        "N:van der Berg;Maria;Anna;Dr.;PhD\r\nTEL;TYPE=WORK:110\r\nTEL;TYPE=CELL,PREF:112\r\nORG:Acme;Sales\r\n"
        "ADR:;;Main St 1;Berlin;;12345;Germany\r\nNOTE:" + r"tea\n" * 600 + "end\r\n"
    )
    card = CARD.format(uid="m", name="Dr. Maria van der Berg", more=more)
    on.server.put("/ann/people/m.vcf", card.replace("N:Dr. Maria van der Berg;;;;\r\n", "", 1))
    before = on.server.stored("/ann/people/m.vcf")
    (shown,) = await found(on, "maria")
    given = {key: value for key, value in shown.items() if key != "id"} | {"phones": [*shown["phones"], "115"]}
    assert await on.asks("update_contact", id=shown["id"], **given) is None
    await on.call("update_contact", id=shown["id"], **given)
    after = on.server.stored("/ann/people/m.vcf")
    assert sorted(set(after.split("\r\n")) - set(before.split("\r\n"))) == ["TEL:115"]
    assert "removes" in str(await on.asks("update_contact", id=shown["id"], notes=shown["notes"][:1900]))


@pytest.mark.parametrize(
    "given",
    [{"phones": ["1"] * 21}, {"address": "x" * 201}, {"notes": "x" * 2_001}, {"name": "x" * 201}],
)
async def test_what_is_too_long_is_refused_and_not_cut(on: Office, given: dict[str, Any]) -> None:
    on.server.put("/ann/people/m.vcf", CARD.format(uid="m", name="Mia", more=""))
    before = on.server.stored("/ann/people/m.vcf")
    with pytest.raises(ToolFailed, match=r"up to 20|longer than"):
        await on.call("update_contact", id="people/m.vcf", **given)
    assert on.server.stored("/ann/people/m.vcf") == before


async def test_a_value_is_removed_and_an_empty_text_is_not_given(on: Office) -> None:
    made = json.loads(await on.call("create_contact", name="Bob Miller", company="Siemens", phones=["1"]))["created"]
    changed = json.loads(await on.call("update_contact", id=made["id"], name="", company="", notes=" "))["changed"]
    assert changed == made
    changed = json.loads(await on.call("update_contact", id=made["id"], company=" ", phones=[]))["changed"]
    assert changed == {"id": made["id"], "name": "Bob Miller"}
    with pytest.raises(ToolFailed, match="needs a name"):
        await on.call("update_contact", id=made["id"], name=" ")
    with pytest.raises(ToolFailed, match="needs a name"):
        await on.call("create_contact", name="")


async def test_removing_or_replacing_a_value_asks_and_adding_does_not(on: Office) -> None:
    details: dict[str, Any] = {"phones": ["110", "112"], "emails": ["bob@example.com"], "notes": "likes tea"}
    identity = json.loads(await on.call("create_contact", name="Bob", **details))["created"]["id"]
    for harmless in ({"phones": ["112", "110", "115"]}, {"company": "Siemens"}, {"name": "Bob"}, details):
        assert await on.asks("update_contact", id=identity, **harmless) is None, harmless
    asked = await on.asks("update_contact", id=identity, phones=[], emails=[])
    assert asked == "This removes `110`, `112`, `bob@example.com` from the entry of `Bob` in your address book."
    assert "entfernt `110` aus dem Eintrag von `Bob`" in str(
        await on.asks("update_contact", "de", id=identity, phones=["112"])
    )
    for change, gone in (({"notes": " "}, "likes tea"), ({"notes": "likes ale"}, "likes tea"), ({"name": "Al"}, "Bob")):
        assert f"removes `{gone}` from" in str(await on.asks("update_contact", id=identity, **change))
    numbers = "".join(f"TEL:{number}\r\n" for number in range(30))
    on.server.put("/ann/people/many.vcf", CARD.format(uid="many", name="Many", more=numbers))
    asked = await on.asks("update_contact", id="people/many.vcf", phones=[])
    assert "`19` and 10 more from the entry of `Many`" in str(asked), "also those that find_contact does not show"


@pytest.mark.parametrize(("tool", "change"), [("update_contact", {"phones": []}), ("delete_contact", {})])
async def test_only_what_was_confirmed_happens(on: Office, tool: str, change: dict[str, Any]) -> None:
    path = "/ann/people/c.vcf"
    on.server.put(path, CARD.format(uid="c", name="Carla", more="TEL:1\r\n"))
    asked = await on.asks(tool, "de", id="people/c.vcf", **change)
    assert asked is not None
    for name, number in (("Doctor", "1"), *([("Carla", "2")] if change else [])):
        on.server.put(path, CARD.format(uid="c", name=name, more=f"TEL:{number}\r\n"))
        with pytest.raises(ToolFailed, match="changed since the user confirmed"):
            await on.call(tool, confirmed=asked, id="people/c.vcf", **change)
        assert f"TEL:{number}" in on.server.stored(path)
    on.server.put(path, CARD.format(uid="c", name="Carla", more="TEL:1\r\n"))
    await on.call(tool, confirmed=asked, id="people/c.vcf", **change)
    assert "TEL" not in on.server.stored("/ann/people/")


async def test_values_cannot_add_properties(on: Office) -> None:
    await on.call("create_contact", name="Eve\r\nTEL:110", phones=["1\r\nEMAIL:x@example.com"], notes="a\r\nURL:x")
    stored = on.server.stored("/ann/people/")
    assert not [line for line in stored.splitlines() if line.startswith(("TEL:110", "EMAIL", "URL"))]


async def test_contacts_that_cannot_be_read_are_left_out(on: Office) -> None:
    for number in range(25):
        on.server.put(f"/ann/people/{number}.vcf", CARD.format(uid=number, name=f"Anna {number:02}", more=""))
    listed = json.loads(await on.call("find_contact", query="anna"))
    assert [each["name"] for each in listed["contacts"]] == [f"Anna {number:02}" for number in range(20)]
    assert listed["left out"].startswith("5 more")
    with pytest.raises(ToolFailed, match="Give a name"):
        await on.call("find_contact", query="  ")
    with pytest.raises(ToolFailed, match="like 1990-05-17"):
        await on.call("create_contact", name="x", birthday="17.5.1990")


@pytest.mark.parametrize("identity", ["", "..", "../ben/people/x.vcf", "home/x.ics", "people/none.vcf", "people"])
async def test_ids_lead_only_to_the_persons_own_contacts(on: Office, identity: str) -> None:
    on.server.address_book("ben")
    with pytest.raises(ToolFailed, match="no such contact"):
        await on.call("delete_contact", id=identity)


async def test_a_calendar_account_serves_its_address_books(on: Office) -> None:
    await on.store.remove(1, "contacts")
    await on.connect("calendar")
    await on.call("create_contact", name="Dora")
    assert [each["name"] for each in await found(on, "dora")] == ["Dora"]
    with pytest.raises(ToolFailed, match="No account is connected"):
        await on.call("find_contact", BEN, query="dora")
    await on.connect("calendar", password="wrong")
    with pytest.raises(ToolFailed, match=r"refuses the user name.*/connect calendar"):
        await on.call("find_contact", query="dora")
    on.server.stop()
    with pytest.raises(ToolFailed, match="can't be reached"):
        await on.call("find_contact", query="dora")
