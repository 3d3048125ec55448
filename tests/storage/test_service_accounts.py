"""Connected accounts and the steps that connect them: SQL and the memory fake behave alike."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from routing.errors import SecretUnreadable
from routing.ports import ServiceAccountStore
from routing.types.accounts import ConnectStep, ServiceAccount
from storage.database import Database
from storage.people.secret_box import FernetBox
from storage.people.service_accounts import SqlServiceAccounts
from storage.stores import Stores, open_stores
from tests.fakes import FakeServiceAccounts, ManualClock
from tests.storage.fakes import Counting
from tests.storage.samples import ANN, BEN, HOME, OTHER

Make = Callable[[], ServiceAccountStore]


@pytest.fixture(params=["sql", "memory"])
def make(request: pytest.FixtureRequest, database: Database, clock: ManualClock) -> Make:
    """Opens the store again, as after a restart."""
    if request.param == "sql":
        return lambda: SqlServiceAccounts(database, clock)
    memory = FakeServiceAccounts(clock)
    return lambda: memory


@pytest.fixture
async def ben(stores: Stores) -> int:
    return (await stores.people.admit(BEN, "Ben", "user", "t")).id


async def test_accounts_are_stored_replaced_and_deleted(make: Make, ann: int, ben: int) -> None:
    store = make()
    home = ServiceAccount(ann, "calendar", "home", {"address": "https://a/", "user": "ann"}, "s1", 1.0, 2.0)
    github = ServiceAccount(ann, "git", "github.com", {}, "s2", 1.0, 1.0)
    gitlab, theirs = replace(github, label="gitlab.com"), replace(github, person_id=ben)
    for account in (home, github, gitlab, theirs):
        await store.put(account)
    for each in (store, make()):
        assert await each.of(ann) == (home, github, gitlab)
        assert await each.of(ben) == (theirs,)
        assert await each.of(-1) == ()
    newer = replace(github, sealed="s3", tested_at=9.0)
    await store.put(newer)
    assert await store.of(ann) == (home, gitlab, newer)
    assert await store.remove(ann, "git", "github.com") == 1
    assert await store.of(ann) == (home, gitlab)
    assert await store.remove(ann, "git") == 1
    assert await store.remove(ann, "git") == 0
    assert await make().of(ann) == (home,)
    assert await make().of(ben) == (theirs,), "another person's account stays"


async def test_an_account_has_one_step_in_a_chat(make: Make, ann: int, ben: int) -> None:
    store = make()
    first = ConnectStep(ann, ANN, HOME, "calendar", {}, 5.0)
    await store.set_step(first)
    await store.set_step(second := replace(first, kind="email", details={"address": "https://a/"}))
    await store.set_step(elsewhere := replace(first, chat=OTHER))
    await store.set_step(theirs := replace(first, person_id=ben, user=BEN))
    for each in (store, make()):
        assert await each.steps() == {(HOME, ANN): second, (OTHER, ANN): elsewhere, (HOME, BEN): theirs}
    await store.end_step(first)
    await store.end_step(first)
    for each in (store, make()):
        assert await each.steps() == {(OTHER, ANN): elsewhere, (HOME, BEN): theirs}


async def test_old_steps_are_swept(make: Make, ann: int) -> None:
    store = make()
    await store.set_step(ConnectStep(ann, ANN, HOME, "calendar", {}, 5.0))
    await store.set_step(newer := ConnectStep(ann, ANN, OTHER, "calendar", {}, 7.0))
    assert len(await store.steps()) == 2
    for before in (6.0, 7.0):
        await store.sweep(before)
        for each in (store, make()):
            assert await each.steps() == {(OTHER, ANN): newer}


async def test_a_hint_is_given_once_in_a_while(make: Make, ann: int, ben: int, clock: ManualClock) -> None:
    store = make()
    assert await store.hint(ann, ["calendar"], clock.now - 100) == ("calendar",)
    assert await store.hint(ann, ["calendar"], clock.now - 100) == ()
    assert await store.hint(ann, ["calendar", "email"], clock.now - 100) == ("email",)
    assert await make().hint(ann, ["calendar", "email"], clock.now - 100) == ()
    assert await store.hint(ben, ["calendar"], clock.now - 100) == ("calendar",)
    clock.now += 101
    assert await store.hint(ann, ["calendar"], clock.now - 100) == ("calendar",)
    assert await make().hint(ann, ["calendar"], clock.now - 100) == ()
    assert await make().hint(ann, ["calendar", "email"], clock.now - 100) == ("email",)


async def test_an_account_is_connected_in_one_step(make: Make, ann: int) -> None:
    store = make()
    old = ServiceAccount(ann, "calendar", "old", {}, "s1", 1.0, 1.0)
    new, git = replace(old, label="new"), replace(old, kind="git", label="github.com")
    for account in (old, git):
        await store.put(account)
    step = ConnectStep(ann, ANN, HOME, "calendar", {}, 99.0)
    await store.set_step(step)
    await store.connect(new, step, alone=True)
    assert sorted(each.label for each in await make().of(ann)) == ["github.com", "new"]
    assert await make().steps() == {}
    await store.connect(replace(git, label="gitlab.com"), step, alone=False)
    assert len(await make().of(ann)) == 3


async def test_nothing_changes_if_an_account_can_not_be_connected(
    database: Database, clock: ManualClock, ann: int
) -> None:
    store = SqlServiceAccounts(database, clock)
    old = ServiceAccount(ann, "calendar", "old", {}, "s1", 1.0, 1.0)
    step = ConnectStep(ann, ANN, HOME, "calendar", {}, 99.0)
    await store.put(old)
    await store.set_step(step)
    unusable: Any = object()  # no database takes it
    broken = replace(step, chat=replace(HOME, chat_id=unusable))
    with pytest.raises(Exception, match=r"object|a value can't be stored"):
        await store.connect(replace(old, label="new"), broken, alone=True)
    assert await store.of(ann) == (old,)
    assert list((await store.steps()).values()) == [step]


async def test_reading_is_cached_until_something_changes(database: Database, clock: ManualClock, ann: int) -> None:
    counting = Counting(database)
    stores = open_stores(counting, clock)
    await stores.people.find(ANN)
    for _ in range(3):
        assert await stores.accounts.of(ann) == ()
        assert await stores.accounts.steps() == {}
    assert counting.reads == 2, "the account tells that there are none"
    await stores.accounts.put(ServiceAccount(ann, "git", "x", {}, "s", 1.0, 1.0))
    for _ in range(3):
        assert len(await stores.accounts.of(ann)) == 1
    assert counting.reads == 3
    await stores.people.forget(ann, "t")
    assert await stores.accounts.of(ann) == ()


async def test_a_box_opens_what_it_sealed(tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    box = FernetBox(path)
    assert not path.exists(), "only when it is needed"
    sealed = await box.seal("pässword")
    assert "pässword" not in sealed
    assert path.stat().st_mode & 0o777 == 0o600
    assert await FernetBox(path).reveal(sealed) == "pässword"
    assert await FernetBox(tmp_path / "unused", path.read_text()).reveal(sealed) == "pässword"
    path.write_text((await new_key(tmp_path)) + "\n" + path.read_text())
    rotated = FernetBox(path)
    assert await rotated.reveal(sealed) == "pässword", "an old key behind the new one"
    newer = await rotated.seal("x")
    path.write_text(path.read_text().splitlines()[0])
    assert await FernetBox(path).reveal(newer) == "x"
    with pytest.raises(SecretUnreadable, match="another key"):
        await FernetBox(path).reveal(sealed)


async def test_a_start_encrypts_with_the_first_key(stores: Stores, tmp_path: Path, ann: int) -> None:
    path = tmp_path / "secrets.key"
    old, lost = FernetBox(path), FernetBox(tmp_path / "lost.key")
    labels = {"a": await old.seal("pässword"), "b": await lost.seal("x")}
    for label, sealed in labels.items():
        await stores.accounts.put(ServiceAccount(ann, "git", label, {}, sealed, 1.0, 1.0))
    assert not await old.has_old_keys()
    path.write_text((await new_key(tmp_path)) + "\n" + path.read_text())
    rotated = FernetBox(path)
    assert await rotated.has_old_keys()
    await stores.accounts.put(ServiceAccount(ann, "git", "c", {}, newest := await rotated.seal("y"), 1.0, 1.0))
    assert [await stores.accounts.reseal(rotated.resealed) for _ in range(2)] == [1, 0]
    path.write_text(path.read_text().splitlines()[0])
    found = {each.label: each.sealed for each in await stores.accounts.of(ann)}
    assert await FernetBox(path).reveal(found["a"]) == "pässword"
    assert (found["b"], found["c"]) == (labels["b"], newest), "the others are left alone"


async def test_a_key_that_is_missing_is_not_created_to_look_for_old_ones(tmp_path: Path) -> None:
    assert not await FernetBox(tmp_path / "secrets.key").has_old_keys()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
async def test_processes_that_create_the_key_at_once_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """All have written a key before the first one can name it."""
    together, real, synced = threading.Barrier(4 if links else 1, timeout=10), os.fsync, list[str]()

    def fsync(file: int) -> None:
        real(file)
        synced.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "key")
        if synced[-1] == "key":
            together.wait()

    def no_links(source: str, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fsync", fsync)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    boxes = [FernetBox(tmp_path / "secrets.key") for _ in range(together.parties)]
    sealed = await asyncio.gather(*(box.seal("x") for box in boxes))
    assert [await boxes[0].reveal(each) for each in sealed] == ["x"] * len(boxes)
    assert os.listdir(tmp_path) == ["secrets.key"]
    assert synced[-1] == "folder", "the name survives a power failure, too"


async def new_key(folder: Path) -> str:
    await FernetBox(folder / "new.key").seal("")
    return (folder / "new.key").read_text().strip()


@pytest.mark.parametrize("content", ["", "not a key", "AAAA", "ä"])
async def test_a_broken_key_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secrets.key"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(SecretUnreadable, match=r"secrets\.key"):
        await FernetBox(path).seal("x")


async def test_a_lost_key_is_replaced_and_old_secrets_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "secrets.key"
    sealed = await FernetBox(path).seal("x")
    path.unlink()
    with pytest.raises(SecretUnreadable, match="another key"):
        await FernetBox(path).reveal(sealed)
    assert await FernetBox(path).seal("y")
