"""Linking accounts merges the data of two people, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from functools import partial

from sqlalchemy import Connection, func, select

from routing.types.accounts import ConnectStep, ServiceAccount
from routing.types.budgets import PersonLimits
from routing.types.history import Summary, TurnFacts
from routing.types.learning import Example, Lesson
from routing.types.memory import Fact
from routing.types.messages import OutboundMessage, UserKey
from routing.types.people import Account, Adoption, Override, Pairing, PersonSettings
from routing.types.schedules import Schedule
from routing.types.tools import Allowance, PendingAction
from storage.database import Database
from storage.schema import metadata
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.storage.samples import ANN, BEN, OTHER, record

FAR = UserKey("discord", "2")


async def kept_of(database: Database, person_id: int) -> set[str]:
    """The tables with data about a person."""
    found = set()
    for table in metadata.sorted_tables:
        if "person_id" in table.c:
            count = select(func.count()).select_from(table).where(table.c.person_id == person_id)
            if await database.read(partial(Connection.scalar, statement=count)):
                found.add(table.name)
    return found


async def filled(stores: Stores, user: UserKey, name: str) -> int:
    """Someone with a row in every table about people."""
    person = (await stores.people.admit(user, name, "user", "t")).id
    here = await stores.history.current(OTHER)
    facts = TurnFacts("smart", "default", "openai/m", 1.0)
    turn = record(here.id, person, name, "yes", facts=facts)
    await stores.ledger.finish([], [OutboundMessage(OTHER, name, owner=person)], turn)
    await stores.budgets.set(person, PersonLimits(daily=Decimal(person)), "t")
    await stores.preferences.set_override(person, "smart", Override(f"openai/{name}"))
    await stores.preferences.set_settings(person, PersonSettings(instructions=name))
    await stores.actions.add(PendingAction(person, here.id, "send_mail", "mail", "{}", name, 2e9))
    await stores.allowances.allow(person, Allowance("send_mail", name))
    await stores.links.offer(person, name * 4, 2e9)
    await stores.accounts.put(ServiceAccount(person, "calendar", name, {}, "sealed", 1.0, 1.0))
    await stores.accounts.put(ServiceAccount(person, "git", "github.com", {"user": name}, "sealed", 1.0, 1.0))
    await stores.accounts.set_step(ConnectStep(person, user, OTHER, "calendar", {}, 2e9))
    await stores.accounts.hint(person, ["calendar"], 0.0)
    await stores.actions.add(PendingAction(person, here.id, "tool", "kit", "{}", "digest", 2e9))
    await stores.allowances.allow(person, Allowance("tool", "1"))
    await stores.facts.add(person, Fact(0, f"Likes {name}", 0.0, "person"))
    await stores.examples.add(person, [Example(0, Lesson("tier", "deep"), name, "words", b"\x01")])
    await stores.schedules.add(Schedule(person, OTHER, True, "reminder", name, "", "UTC", 2e9, 0.0), 9)
    await stores.history.summarise(here.id, Summary(1, name, 1, reader=person))
    return person


async def test_linking_moves_all_data_to_the_other_person(database: Database, clock: ManualClock) -> None:
    stores = open_stores(database, clock)
    ann, ben = await filled(stores, ANN, "an"), await filled(stores, FAR, "be")
    await stores.preferences.set_override(ben, "deep", Override("openai/be"))
    every = {table.name for table in metadata.sorted_tables if "person_id" in table.c}
    assert await kept_of(database, ben) == every, "a new table about people belongs in this test"
    await stores.links.join("an" * 4, FAR, "t")
    assert await kept_of(database, ben) == set()
    assert await kept_of(database, ann) == every - {"links"}
    assert await stores.links.accounts(ann) == (Account(ANN, 0.0), Account(FAR, clock.now))
    assert {entry.message.owner for entry in await stores.outbox.unsent()} == {ann}
    assert (await stores.preferences.settings(ann)).instructions == "an"
    models = (await stores.preferences.get(ann)).overrides
    assert {tier: each.model for tier, each in models.items()} == {"smart": "openai/an", "deep": "openai/be"}
    assert await stores.budgets.everyone() == {ann: PersonLimits(daily=Decimal(ben))}, "the newer setting"
    found = await stores.people.find(FAR)
    assert found is not None
    assert found.id == ann
    (linked,) = await stores.people.audit_log(1)
    assert (linked.action, linked.subject) == ("link", "discord:2")
    assert linked.change == f"person {ann}, was person {ben}"


async def test_settings_are_merged_one_by_one(database: Database, clock: ManualClock) -> None:
    stores = open_stores(database, clock)
    ann = (await stores.people.admit(ANN, "an", "user", "t")).id
    ben = (await stores.people.admit(FAR, "be", "user", "t")).id
    await stores.preferences.set_tier(ann, "smart", False)
    await stores.preferences.set_settings(ann, PersonSettings(language="de"))
    mine = PersonSettings(language="en", time_zone="Europe/Kyiv", instructions="Be brief.", off=frozenset({"weather"}))
    await stores.preferences.set_settings(ben, mine)
    await stores.preferences.set_tier(ben, "deep", True)
    await stores.links.offer(ann, "CODE", 2e9)
    await stores.links.join("CODE", FAR, "t")
    assert await stores.preferences.settings(ann) == replace(mine, language="de")
    chosen = await stores.preferences.get(ann)
    assert (chosen.tier, chosen.force) == ("smart", False)


async def test_files_to_adopt_are_listed_until_done(database: Database, clock: ManualClock) -> None:
    stores = open_stores(database, clock)
    ann = (await stores.people.admit(ANN, "an", "user", "t")).id
    ben = (await stores.people.admit(FAR, "be", "user", "t")).id
    await stores.links.offer(ann, "CODE", 2e9)
    notice = OutboundMessage(OTHER, "linked")
    (queued,) = await stores.links.join("CODE", FAR, "t", [notice])
    assert queued.message == notice
    assert [each.id for each in await stores.outbox.unsent()] == [queued.id]
    assert await stores.links.adoptions() == (Adoption(ben, ann),)
    await stores.links.adopted(Adoption(ben, ann))
    assert await stores.links.adoptions() == ()


async def test_a_running_turn_is_stored_under_the_linked_person(database: Database, clock: ManualClock) -> None:
    stores = open_stores(database, clock)
    ann = (await stores.people.admit(ANN, "an", "user", "t")).id
    ben = (await stores.people.admit(FAR, "be", "user", "t")).id
    here = await stores.history.current(OTHER)
    await stores.links.offer(ann, "CODE", 2e9)
    await stores.links.join("CODE", FAR, "t")
    (reply,) = await stores.ledger.finish(
        [], [OutboundMessage(OTHER, "yes", owner=ben)], record(here.id, ben, "q", "yes")
    )
    assert reply.message.owner == ann
    messages, _ = await stores.history.messages(here.id, 10)
    assert {each.person_id for each in messages} == {ann}
    assert [each.calls for each in await stores.usage.by_model(person_id=ann)] == [1]


async def test_a_turn_that_ends_while_accounts_are_linked_is_stored(database: Database, clock: ManualClock) -> None:
    """Both share a transaction on SQLite; the person's new id is known only after it."""
    stores = open_stores(database, clock)
    ann = (await stores.people.admit(ANN, "an", "user", "t")).id
    ben = (await stores.people.admit(FAR, "be", "user", "t")).id
    here = await stores.history.current(OTHER)
    await stores.links.offer(ann, "CODE", 2e9)
    turn = record(here.id, ben, "q", "yes")
    _, (reply,) = await asyncio.gather(
        stores.links.join("CODE", FAR, "t"),
        stores.ledger.finish([], [OutboundMessage(OTHER, "yes", owner=ben)], turn),
    )
    assert reply.message.text == "yes"
    messages, _ = await stores.history.messages(here.id, 10)
    assert {each.person_id for each in messages} == {ann}
    assert [each.calls for each in await stores.usage.by_model(person_id=ann)] == [1]


async def test_a_setting_of_only_one_person_is_kept(database: Database, clock: ManualClock) -> None:
    stores = open_stores(database, clock)
    ann = (await stores.people.admit(ANN, "an", "user", "t")).id
    ben = (await stores.people.admit(FAR, "be", "user", "t")).id
    await stores.preferences.set_tier(ben, "deep", True)
    assert (await stores.preferences.get(ann)).tier is None
    await stores.links.offer(ann, "CODE", 2e9)
    await stores.links.join("CODE", FAR, "t")
    assert (await stores.preferences.get(ann)).tier == "deep"


async def test_linking_ends_a_pairing_request(database: Database, clock: ManualClock) -> None:
    stores = open_stores(database, clock)
    ann = (await stores.people.admit(ANN, "an", "user", "t")).id
    await stores.people.ask(Pairing(FAR, "be", "PAIRING", clock.now + 600), 3)
    await stores.links.offer(ann, "OLD", 600.0)
    await stores.links.offer(ann, "NEW", 600.0)
    assert await stores.links.find("OLD") is None
    found = await stores.links.find("NEW")
    assert found is not None
    assert found.id == ann
    await stores.links.join("NEW", FAR, "t")
    assert await stores.people.waiting() == ()
    assert await stores.links.find("NEW") is None
    await stores.links.offer(ann, "AGAIN", 600.0)
    await stores.links.unlink(ann, FAR, "t")
    assert await stores.links.find("AGAIN") is None, "the unlinked account is announced again"
    assert await stores.people.find(FAR) is None
    assert await stores.links.accounts(ann) == (Account(ANN, 0.0),)
    await stores.links.offer(ann, "LATE", 600.0)
    clock.now += 601
    assert await stores.links.find("LATE") is None


async def test_forgetting_deletes_everything(database: Database, clock: ManualClock) -> None:
    stores = open_stores(database, clock)
    ben = await filled(stores, BEN, "be")
    assert await stores.links.find("be" * 4) is not None
    await stores.people.forget(ben, "t")
    assert await kept_of(database, ben) == set()
    assert await stores.links.find("be" * 4) is None
