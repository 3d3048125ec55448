"""The admin page's lists of people."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, event, insert

from routing.types.accounts import ServiceAccount
from routing.types.directory import PeopleFilter
from routing.types.messages import UserKey
from routing.types.people import Profile
from routing.types.schedules import Schedule
from storage import schema
from storage.stores import Stores
from tests.storage.samples import ANN, BEN, HOME, record


def schedule(person: int, at: float, text: str) -> Schedule:
    return Schedule(person, HOME, True, "reminder", text, "", "UTC", at, 1.0)


async def test_people_are_found_by_name_handle_and_account(stores: Stores, ann: int) -> None:
    await stores.people.admit(BEN, "Ben Öztürk", "guest", "t")
    await stores.people.seen(BEN, Profile("Ben", "ben_100%", "en"))
    everyone = await stores.directory.page(PeopleFilter(), 10)
    assert [(each.person.name, each.accounts) for each in everyone.people] == [("Ben Öztürk", (BEN,)), ("Ann", (ANN,))]
    for text in ("ben", "ÖZ", "@ben_100%", str(BEN), BEN.user_id, "100%"):
        found = await stores.directory.page(PeopleFilter(text), 10)
        expected = ["Ben Öztürk"] if text != "ÖZ" or found.people else []  # SQLite folds ASCII only
        assert [each.person.name for each in found.people] == expected, text
    assert (await stores.directory.page(PeopleFilter("%"), 10)).total == 1
    assert (await stores.directory.page(PeopleFilter("nobody"), 10)).people == ()
    assert [each.person.id for each in (await stores.directory.page(PeopleFilter(role="owner"), 10)).people] == [ann]
    assert await stores.directory.roles() == {"owner": 1, "guest": 1}


async def test_a_page_has_numbers_and_no_texts(stores: Stores, ann: int) -> None:
    chat = (await stores.history.current(HOME)).id
    await stores.ledger.finish([], [], record(chat, ann, "hello", "hi"))
    await stores.schedules.add(schedule(ann, 500.0, "secret plan"), 10)
    await stores.schedules.add(schedule(ann, 300.0, "another"), 10)
    await stores.accounts.put(ServiceAccount(ann, "email", "me@example.org", {}, "sealed", 1.0, 1.0))
    found = await stores.directory.get(ann)
    assert found is not None
    assert (found.conversations, found.schedules, found.next_at, found.connected) == (1, 2, 300.0, 1)
    assert found.last_hour is not None
    assert await stores.directory.connected() == {"email": 1}
    assert "secret" not in repr(found)
    assert await stores.directory.get(999) is None


async def test_people_with_reminders_are_listed_by_the_next_one(stores: Stores, ann: int) -> None:
    ben = await stores.people.admit(BEN, "Ben", "user", "t")
    await stores.people.admit(UserKey("telegram", "77"), "Without", "user", "t")
    await stores.schedules.add(schedule(ann, 500.0, "later"), 10)
    await stores.schedules.add(schedule(ben.id, 100.0, "soon"), 10)
    found = await stores.directory.page(PeopleFilter(with_schedules=True), 10)
    assert [each.person.id for each in found.people] == [ben.id, ann]
    assert found.total == 2


async def test_a_page_of_many_people_takes_a_bounded_number_of_statements(stores: Stores, ann: int) -> None:
    def fill(connection: Connection) -> None:
        rows = [{"name": f"Person {n}", "role": "user", "created_at": 1.0} for n in range(1_000)]
        connection.execute(insert(schema.people), rows)

    await stores.database.write(fill)
    asked: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        page = await stores.directory.page(PeopleFilter("person"), 25, 50)
        spent = await stores.spending.of_people([each.person.id for each in page.people])
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert (len(page.people), page.total, spent) == (25, 1_000, {})
    assert len([each for each in asked if each.startswith("SELECT")]) <= 7


async def test_the_spending_of_some_people(stores: Stores, ann: int) -> None:
    ben = await stores.people.admit(BEN, "Ben", "user", "t")
    chat = (await stores.history.current(HOME)).id
    await stores.ledger.finish([], [], record(chat, ann, "hello", "hi"))
    found = await stores.spending.of_people([ann, ben.id])
    assert list(found) == [ann]
    assert found[ann].calls == 1
    assert len(await stores.spending.by_person(limit=1)) == 1
