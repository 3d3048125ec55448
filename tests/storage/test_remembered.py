"""What the stores keep in memory of chats and people stays small, and forgetting it loses nothing."""

from __future__ import annotations

import pytest

from routing.types import ChatKey
from storage import history, preferences
from storage.database import Database
from storage.history import SqlHistory
from storage.people import SqlPeople
from storage.preferences import SqlPreferences
from tests.storage.samples import ANN, Hand

MOST = 20


def kept(store: object) -> int:
    """Entries in a store's tables."""
    return max(len(table) for table in vars(store).values() if isinstance(table, dict))


async def test_memory_is_bounded_and_what_was_forgotten_is_read_again(
    database: Database, clock: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (history, preferences):
        monkeypatch.setattr(module, "_REMEMBERED", MOST)
    settings, talks = SqlPreferences(database), SqlHistory(database, clock)
    ann = await SqlPeople(database, settings, clock).admit(ANN, "Ann", "user", "t")
    await settings.set_tier(ann.id, "smart", True)
    chats = [ChatKey("telegram", str(number)) for number in range(3 * MOST)]
    first = await talks.current(chats[0])
    await talks.set_skill(first.id, "poet")
    for number, chat in enumerate(chats):
        await talks.switches((await talks.current(chat)).id)
        await settings.get(ann.id + number)
        assert max(kept(talks), kept(settings)) <= MOST
    assert (await talks.current(chats[0])).id == first.id
    assert (await talks.switches(first.id)).skill == "poet"
    assert (await settings.get(ann.id)).tier == "smart"
