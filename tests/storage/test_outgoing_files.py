"""The files of replies: on disk before the reply is stored, deleted after it was sent, never lost or left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from routing.errors import StorageFault
from routing.types.messages import OutboundMessage, OutgoingFile
from routing.types.tools import PendingAction
from storage.database import Database
from storage.outgoing_files import UNUSED_SECONDS, OutgoingFileStore
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.storage.samples import HOME

REPORT = OutgoingFile("report.pdf", "application/pdf", bytes(range(256)) * 300)
VOICE = OutgoingFile("answer.ogg", "audio/ogg", b"OggS", "voice")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "outgoing"


@pytest.fixture
def stores(database: Database, clock: ManualClock, folder: Path) -> Stores:
    return open_stores(database, clock, outgoing=folder)


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def remove(path: Path) -> None:
    path.unlink()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def add_file(path: Path, age: float = 0.0) -> None:
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_bytes(b"x")
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))


@pytest.mark.parametrize("ends", ["sent", "dead"])
async def test_files_are_kept_until_the_reply_is_finished(stores: Stores, folder: Path, ends: str) -> None:
    outbox, message = stores.outbox, OutboundMessage(HOME, "Here", files=(REPORT, VOICE))
    (added,) = await stores.ledger.finish([], [message])
    assert not any(each.data for each in added.message.files), "only the disk holds the content of waiting files"
    assert mode(folder) == 0o700
    await outbox.attempting(added.id)
    await outbox.piece_sent(added.id, 1, "m1")
    (left,) = await outbox.unsent()
    read = await outbox.with_files(left.message)
    assert [(each.name, each.mime, each.data, each.kind) for each in read.files] == [
        (each.name, each.mime, each.data, each.kind) for each in (REPORT, VOICE)
    ]
    await (outbox.sent(added.id, "m2") if ends == "sent" else outbox.dead(added.id, "blocked"))
    assert names(folder) == set()
    done = await outbox.get(added.id)
    assert done is not None
    assert done.message.files == ()


async def test_only_files_that_no_reply_names_are_swept(stores: Stores, folder: Path) -> None:
    (added,) = await stores.outbox.add([OutboundMessage(HOME, "Here", files=(REPORT,))])
    add_file(folder / "fresh")
    for name in ("orphan", added.message.files[0].key):
        add_file(folder / name, UNUSED_SECONDS + 1)
    await stores.outbox.sweep(0)
    assert names(folder) == {"fresh", added.message.files[0].key}


async def test_files_of_a_confirmed_action_are_kept_until_its_answer_is_sent(
    stores: Stores, folder: Path, ann: int
) -> None:
    action = await stores.actions.add(PendingAction(ann, 1, "make_image", "images", "{}", "digest", 100.0))
    (kept,) = await stores.actions.end(action.id, "done", "made", (REPORT,))
    assert (kept.data, names(folder)) == (b"", {kept.key})
    add_file(folder / kept.key, UNUSED_SECONDS + 1)
    await stores.outbox.sweep(0)
    resumed = await stores.actions.get(action.id)
    assert resumed is not None
    assert (resumed.state, resumed.result, resumed.files) == ("done", "made", (kept,))
    (added,) = await stores.ledger.finish([], [OutboundMessage(HOME, "Here", files=resumed.files)])
    read = await stores.outbox.with_files(added.message)
    assert [each.data for each in read.files] == [REPORT.data]
    assert names(folder) == {kept.key}, "one copy"
    await stores.outbox.sent(added.id, "m1")
    assert names(folder) == set()


async def test_files_of_a_deleted_action_are_swept(stores: Stores, folder: Path, ann: int) -> None:
    action = await stores.actions.add(PendingAction(ann, 1, "make_image", "images", "{}", "digest", 100.0))
    (kept,) = await stores.actions.end(action.id, "done", "made", (REPORT,))
    add_file(folder / kept.key, UNUSED_SECONDS + 1)
    await stores.actions.sweep(101.0)
    await stores.outbox.sweep(0)
    assert names(folder) == set()


async def test_lost_content_leaves_a_file_without_any(stores: Stores, folder: Path) -> None:
    (added,) = await stores.outbox.add([OutboundMessage(HOME, "Here", files=(REPORT, VOICE))])
    remove(folder / added.message.files[0].key)
    read = await stores.outbox.with_files(added.message)
    assert [each.data for each in read.files] == [b"", VOICE.data]


async def test_a_disk_that_fails_stores_nothing(stores: Stores, folder: Path) -> None:
    add_file(folder)
    with pytest.raises(StorageFault, match="can't be stored"):
        await stores.ledger.finish([], [OutboundMessage(HOME, "Here", files=(REPORT,))])
    assert await stores.outbox.unsent() == ()


async def test_a_key_cannot_name_another_file(tmp_path: Path) -> None:
    add_file(tmp_path / "secret")
    store = OutgoingFileStore(tmp_path / "outgoing")
    assert (await store.read(OutgoingFile("a", "", key="../secret"))).data == b""
