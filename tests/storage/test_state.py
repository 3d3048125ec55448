"""State values and chats, on SQLite and PostgreSQL."""

from __future__ import annotations

from routing.types.messages import ChatKey
from storage.database import Database
from storage.history import SqlHistory
from storage.state import SqlChats, SqlState
from tests.fakes import ManualClock
from tests.storage.samples import HOME, OTHER, TOPIC


async def test_state_values_and_chats(database: Database, clock: ManualClock) -> None:
    state, chats, history = SqlState(database), SqlChats(database, clock), SqlHistory(database, clock)
    assert await state.get("x") is None
    for value in ("1", "2", None, None):
        await state.put("x", value)
        assert await state.get("x") == value
    assert (await chats.streaming(OTHER), await chats.allowed(OTHER)) == (True, False)
    await chats.set_streaming(OTHER, False)
    await chats.set_allowed(OTHER, True, "boss")
    for fresh in (chats, SqlChats(database, clock)):
        assert (await fresh.streaming(TOPIC), await fresh.allowed(TOPIC)) == (False, True)
        assert (await fresh.streaming(HOME), await fresh.allowed(HOME)) == (True, False)
    before = await history.current(OTHER)
    await chats.moved(OTHER, "-100")
    moved = ChatKey("telegram", "-100")
    assert await chats.allowed(moved)
    assert not await chats.allowed(OTHER)
    assert (await SqlHistory(database, clock).current(moved)).id == before.id
