"""Two processes store the same thing at once, on SQLite and PostgreSQL: nothing fails, and it is stored once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar, TypeVarTuple

import pytest
from sqlalchemy import Table, func, select

from routing.errors import Refused
from routing.types.accounts import ConnectStep
from routing.types.history import TurnFacts
from routing.types.messages import ChatKey, UserKey
from routing.types.people import Override, Pairing, PersonSettings, Preferences, Profile
from storage.database import open_database
from storage.schema import identities, pairings, people
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.storage.samples import ANN, BEN, HOME, message, record
from tests.storage.usage.test_hours import differing

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
TASKS, ROUNDS = 20, 3


class AtOnce:
    """Runs a step in 20 tasks, half of them in each of two processes, and returns their results."""

    def __init__(self, *processes: Stores) -> None:
        self._processes = processes

    async def __call__(self, step: Callable[[Stores, int, *Ts], Awaitable[T]], *given: *Ts) -> list[T]:
        tasks = (step(self._processes[number % len(self._processes)], number, *given) for number in range(TASKS))
        return await asyncio.gather(*tasks)


@pytest.fixture
async def other(database_url: str, clock: ManualClock) -> AsyncIterator[Stores]:
    """The stores of a second process."""
    database = open_database(database_url)
    yield open_stores(database, clock)
    await database.close()


@pytest.fixture
def at_once(stores: Stores, other: Stores) -> AtOnce:
    return AtOnce(stores, other)


async def rows(stores: Stores, table: Table) -> int:
    return await stores.database.read(lambda c: c.execute(select(func.count()).select_from(table)).scalar_one())


async def test_a_state_value(stores: Stores, at_once: AtOnce) -> None:
    async def put(on: Stores, number: int, key: str) -> None:
        await on.state.put(key, str(number))

    async def put_or_delete(on: Stores, number: int) -> None:
        await on.state.put("a", str(number) if number % 3 else None)

    for key in "abc":
        await at_once(put, key)
        assert await stores.state.get(key) in {str(number) for number in range(TASKS)}
    await at_once(put_or_delete)


async def test_the_settings_of_a_chat(at_once: AtOnce, other: Stores) -> None:
    async def change(on: Stores, number: int, chat: ChatKey) -> None:
        changes = (
            lambda: on.chats.set_streaming(chat, False),
            lambda: on.chats.set_learning(chat, True),
            lambda: on.chats.set_allowed(chat, True, "t"),
        )
        await changes[number % 3]()

    for chat in (ChatKey("telegram", str(number)) for number in range(ROUNDS)):
        await at_once(change, chat)
        other.chats.clear()
        assert not await other.chats.streaming(chat)
        assert await other.chats.allowed(chat)
        assert await other.chats.learning(chat) is True


async def test_the_settings_of_a_person(stores: Stores, other: Stores, at_once: AtOnce) -> None:
    settings = PersonSettings(language="de", footer=True)

    async def change(on: Stores, number: int, person: int) -> None:
        changes = (
            lambda: on.preferences.set_settings(person, settings),
            lambda: on.preferences.set_tier(person, "smart", True),
            lambda: on.preferences.set_override(person, "deep", Override("a/b", "high")),
        )
        await changes[number % 3]()

    for account in range(ROUNDS):
        person = await stores.people.admit(UserKey("telegram", str(account)), "", "user", "t")
        await at_once(change, person.id)
        other.preferences.clear()
        wanted = Preferences("smart", True, {"deep": Override("a/b", "high")})
        assert await other.preferences.get(person.id) == wanted
        assert await other.preferences.settings(person.id) == settings


async def test_a_new_person(stores: Stores, at_once: AtOnce) -> None:
    async def admit(on: Stores, number: int, user: UserKey) -> int:
        if number % 3:
            return (await on.people.admit(user, "Ann", "user", "t")).id
        return (await on.people.admit_sender(user, Profile("Ann", "ann", "en"), "user", "t")).id

    for account in range(ROUNDS):
        user = UserKey("telegram", str(account))
        assert len(set(await at_once(admit, user))) == 1
    assert await rows(stores, people) == await rows(stores, identities) == ROUNDS


async def test_an_account_that_is_linked_and_admitted(stores: Stores, at_once: AtOnce, ann: int) -> None:
    phone = UserKey("discord", "7")
    await stores.links.offer(ann, "CODE", 600.0)

    async def link_or_admit(on: Stores, number: int) -> None:
        if number:
            await on.people.admit(phone, "", "user", "t")
        else:
            await on.links.join("CODE", phone, "t")

    await at_once(link_or_admit)
    assert {each.user for each in await stores.links.accounts(ann)} == {ANN, phone}
    assert await rows(stores, people) == 1


async def test_a_code_is_used_once(at_once: AtOnce, stores: Stores, ann: int) -> None:
    await stores.links.offer(ann, "CODE", 600.0)

    async def link(on: Stores, number: int) -> bool:
        with suppress(Refused):
            await on.links.join("CODE", UserKey("discord", str(number)), "t")
            return True
        return False

    assert sum(await at_once(link)) == 1
    assert len(await stores.links.accounts(ann)) == 2


async def test_settings_change_while_people_are_linked(stores: Stores, at_once: AtOnce, ann: int) -> None:
    ben = (await stores.people.admit(BEN, "Ben", "user", "t")).id
    await stores.preferences.set_tier(ben, "smart", False)
    await stores.preferences.set_override(ben, "deep", Override("a/b", None))
    await stores.links.offer(ann, "CODE", 600.0)

    async def change(on: Stores, number: int) -> None:
        if number == 1:
            await on.links.join("CODE", BEN, "t")
        else:
            await on.preferences.set_settings(ann, PersonSettings(language="de"))
            await on.preferences.set_override(ann, "deep", Override("a/c", None))

    await at_once(change)
    stores.preferences.clear()
    assert (await stores.preferences.get(ann)).overrides == {"deep": Override("a/c", None)}
    assert (await stores.preferences.settings(ann)).language == "de"


async def test_a_request_for_access(stores: Stores, at_once: AtOnce, clock: ManualClock) -> None:
    asked = Pairing(ANN, "Ann", "AAAAAAAA", clock.now + 600)
    await at_once(lambda on, number: on.people.ask(replace(asked, messages=(message(str(number)),)), 3))
    assert await rows(stores, pairings) == 1
    (kept,) = await stores.people.waiting()
    assert len(kept.messages) == 3


async def test_a_code_for_linking(stores: Stores, at_once: AtOnce, ann: int) -> None:
    await at_once(lambda on, number: on.links.offer(ann, f"CODE{number}", 600.0))
    found = [await stores.links.find(f"CODE{number}") for number in range(TASKS)]
    assert [person.id for person in found if person is not None] == [ann]


async def test_a_step_of_connecting_an_account(other: Stores, at_once: AtOnce, ann: int) -> None:
    await at_once(lambda on, number: on.accounts.set_step(ConnectStep(ann, ANN, HOME, f"kind{number}", {}, 5.0)))
    other.accounts.clear()
    assert list(await other.accounts.steps()) == [(HOME, ANN)]


async def test_a_received_message(at_once: AtOnce) -> None:
    async def accept(on: Stores, _number: int) -> int:
        return len(await on.inbox.accept([message("1")]))

    assert sum(await at_once(accept)) == 1


async def test_usage_within_an_hour(stores: Stores, at_once: AtOnce, ann: int) -> None:
    here = (await stores.history.current(HOME)).id
    facts = TurnFacts("smart", "default", "openai/m", 1.0)
    turn = record(here, ann, "q", "a", facts=facts)
    await at_once(lambda on, number: on.ledger.finish([], [], replace(turn, turn_id=f"{number}")))
    assert await stores.database.read(differing) == []
    assert sum(each.turns for each in await stores.turns.by_tier()) == TASKS
