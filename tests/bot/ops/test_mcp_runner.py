"""Running a tool for a client: alone if destructive, with limits on time and length."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.ops.mcp import Runner
from handlers.tools.authoring.tool import Execute, Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.errors import ToolFailed
from routing.types.decisions import SIZES
from routing.types.messages import UserKey
from routing.types.people import PersonSettings
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import ToolScope, Traits
from storage.database import open_database
from storage.database.migrate import migrate
from storage.people.people import SqlPeople
from storage.people.preferences import SqlPreferences

Make = Callable[..., Runner]


@pytest.fixture
async def runner(tmp_path: Path) -> AsyncIterator[Make]:
    """Runs one tool, for an owner in Tokyo."""
    url = f"sqlite:///{tmp_path / 'tierbot.db'}"
    await asyncio.to_thread(migrate, url, tmp_path)
    database = open_database(url)
    preferences = SqlPreferences(database)
    person = await SqlPeople(database, preferences, time.time).admit(UserKey("console", "ann"), "Ann", "owner", "test")
    await preferences.set_settings(person.id, PersonSettings(time_zone="Asia/Tokyo"))

    def make(execute: Execute, traits: Traits) -> Runner:
        card = ToolCard("tool", dict.fromkeys(SIZES, ToolText("…", {"type": "object", "properties": {}})))
        kit = BoundToolkit(Toolkit("kit", "A kit.", tools=(card,)), [Tool("tool", execute, traits=traits)])
        return Runner(Toolbox(BuiltinSource([kit])), person, preferences, most_chars=1000)

    yield make
    await database.close()


@pytest.mark.parametrize(("parallel", "most"), [(True, 3), (False, 1)])
async def test_destructive_tools_run_alone(runner: Make, parallel: bool, most: int) -> None:
    inside, seen, together = 0, [], asyncio.Barrier(1)

    async def execute(scope: ToolScope) -> str:
        nonlocal inside
        inside += 1
        seen.append(inside)
        await together.wait()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        inside -= 1
        return scope.time_zone

    made = runner(execute, Traits(parallel=parallel, changes=not parallel))
    await made.run("tool", {})  # late imports are done
    seen.clear()
    together = asyncio.Barrier(most)
    assert await asyncio.gather(*(made.run("tool", {}) for _ in range(3))) == ["Asia/Tokyo"] * 3
    assert max(seen) == most


async def test_a_slow_tool_is_cancelled(runner: Make) -> None:
    async def execute(scope: ToolScope) -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(ToolFailed, match="tool timed out after 0 s"):
        await runner(execute, Traits(seconds=0.01)).run("tool", {})


async def test_a_long_result_is_truncated(runner: Make) -> None:
    async def execute(scope: ToolScope) -> str:
        return "x" * 5000 + "\0"

    cut = await runner(execute, Traits()).run("tool", {})
    assert len(cut) <= 1000
    assert "OUTPUT TRUNCATED" in cut
    assert "\0" not in cut
