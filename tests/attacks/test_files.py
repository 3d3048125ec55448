"""Other users of the machine cannot read the workspace, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import pytest

from tests.bot.ops.doctor import findings
from tests.stories.harness import BotHarness, BotProcess, ask


@pytest.fixture
def careless() -> Iterator[None]:
    """Sets a umask that lets everyone read."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.sqlite_only("its files, too")
@pytest.mark.usefixtures("careless")
async def test_the_files_of_a_running_bot_are_closed_to_others(on: BotHarness) -> None:
    on.workspace.mkdir(mode=0o777)
    (on.workspace / "mcp.json").write_text('{"mcpServers": {}}')
    on.env["EMBEDDINGS"] = "off"
    async with BotProcess(on) as bot:
        await ask(on, "hi")
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (on.workspace, *on.workspace.rglob("*"))}
        assert await bot.terminate() == 0
    models = {path for path in modes if path.name in ("models", "models.json", "preferences")}
    assert modes[on.workspace] == 0o700
    assert on.database in modes
    assert on.database.with_name("tierbot.db-wal") in modes
    assert not {path: oct(mode) for path, mode in modes.items() if mode & 0o077 and path not in models}


@pytest.mark.sqlite_only("its files, too")
async def test_the_doctor_names_what_others_may_read(on: BotHarness) -> None:
    on.workspace.mkdir(mode=0o700)
    cache, backups = on.workspace / "cache", on.workspace / "backups"
    loose = [
        *(on.workspace / name for name in (".env", "mcp.json", "console-history", "tierbot.db", "tierbot.db-wal")),
        cache / "tools.index",
        backups / "tierbot-0001.db",
    ]
    for folder in (cache, backups):
        folder.mkdir(mode=0o700)
    for path in loose:
        path.touch()
        path.chmod(0o644)
    told = [each for each in await findings(on) if each.name == "permissions"]
    assert {each.fix for each in told} >= {f"chmod 600 {path}" for path in loose}
