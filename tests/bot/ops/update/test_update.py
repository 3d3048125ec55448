"""`tierbot update` in a clone of the program, with the loopback Telegram server and a stand-in for systemd."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.bot.ops.update.project import Project
from tests.servers.git import git
from tests.stories.harness import BotHarness, bot_harness

pytestmark = pytest.mark.system
BROKEN = 'raise SystemExit("a fault of this version")\n'


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    async with bot_harness(tmp_path / "workspace") as made:
        yield made


@pytest.fixture
async def project(tmp_path: Path, on: BotHarness) -> AsyncIterator[Project]:
    """The bot runs as a service of version 0.1.0, and has answered."""
    made = Project(tmp_path / "project", on.workspace)
    made.create()
    on.write_config()
    names = ("TELEGRAM_BOT_TOKEN", "TELEGRAM_API_ROOT", "OPENAI_API_KEY", "BOT_OWNERS", "EMBEDDINGS", "OLLAMA_HOST")
    lines = [f"{name}={value}\n" for name, value in on.environment().items() if name in names]
    (on.workspace / ".env").write_text("".join(lines), encoding="utf-8")
    code, said = await made.tierbot("service", "install", "--user")
    assert code == 0, said
    try:
        yield made
    finally:
        await made.stop()


async def answers(on: BotHarness, text: str) -> bool:
    on.tg.say(text)
    return (await on.tg.reply()).text == f"You said: {text}"


def tables(database: Path) -> set[str]:
    with closing(sqlite3.connect(database)) as connection:
        return {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}


async def test_a_new_version_is_installed_and_answers(on: BotHarness, project: Project) -> None:
    assert (await project.tierbot("update"))[1].strip() == "tierbot 0.1.0 is the newest version."
    project.add_package()
    project.add_migration()
    commit = project.publish("0.2.0")
    code, said = await project.tierbot("update", "--check")
    assert (code, said) == (0, f"There is tierbot 0.2.0 (1 new commit, {commit[:8]}); this is 0.1.0.\n")
    assert await answers(on, "before")
    code, said = await project.tierbot("update")
    assert code == 0, said
    assert f"tierbot is now 0.2.0 (1 new commit, {commit[:8]}). The backup is {project.workspace}/backups/" in said
    assert (project.version, project.commit, project.has_package) == ("tierbot 0.2.0", commit, True)
    assert "new_in_this_version" in tables(project.database)
    assert await project.running()
    assert await answers(on, "after")
    assert project.unreadable() == [], "the user of the service reads the program"
    assert len(list((project.workspace / "backups").glob("before-update-*.tar.gz"))) == 1
    assert [path.name for path in project.clone.glob(".venv.*")] == [".venv.update.lock"]


@pytest.mark.slow
async def test_a_version_that_does_not_get_healthy_is_taken_back(on: BotHarness, project: Project) -> None:
    assert await answers(on, "before")
    before = project.commit
    project.add_package()
    project.add_migration()
    project.publish("0.2.0", bot__running=BROKEN)
    code, said = await project.tierbot("update")
    assert code == 1, said
    assert "The new version does not work. It does not start. The end of its log:" in said
    assert "a fault of this version" in said
    assert "The new version changed the database, so that of the backup takes its place." in said
    assert said.endswith("tierbot is 0.1.0 again and running.\n")
    assert (project.version, project.commit, project.has_package) == ("tierbot 0.1.0", before, False)
    assert "new_in_this_version" not in tables(project.database)
    assert await answers(on, "after")
    assert [path.name for path in project.clone.glob(".venv.*")] == [".venv.update.lock"]


@pytest.mark.slow
async def test_packages_that_do_not_install_are_taken_back(on: BotHarness, project: Project) -> None:
    before = project.commit
    (project.work / "requirements.lock").write_text("nosuch @ file:///nosuch.whl --hash=sha256:00\n", encoding="utf-8")
    project.publish("0.2.0")
    code, said = await project.tierbot("update")
    assert code == 1, said
    assert "The new version does not work. `make" in said
    assert "takes its place" not in said, "the database stays, as nothing changed it"
    assert (project.version, project.commit) == ("tierbot 0.1.0", before)
    assert await answers(on, "after")


async def test_nothing_is_updated_with_local_changes(project: Project) -> None:
    project.publish("0.2.0")
    before = project.commit
    changed = project.clone / "bot" / "cli.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    code, said = await project.tierbot("update")
    assert (code, project.commit) == (2, before)
    assert f"Nothing was updated, because files of {project.clone} were changed: bot/cli.py." in said
    git(project.clone, "commit", "-q", "-a", "-m", "Mine")
    code, said = await project.tierbot("update")
    assert code == 2
    assert f"because {project.clone} has commits that origin/main has not" in said
    git(project.clone, "switch", "-q", "-c", "own")
    code, said = await project.tierbot("update", "--check")
    assert code == 2
    assert "follows no other" in said
    assert await project.running()


@pytest.mark.slow
@pytest.mark.parametrize("step", ["Stopping", "Backing up", "Installing", "Migrating", "Starting the service"])
async def test_an_update_that_is_killed_is_undone_by_the_next(on: BotHarness, project: Project, step: str) -> None:
    assert await answers(on, "before")
    project.add_package()
    project.add_migration()
    commit = project.publish("0.2.0")
    await project.killed("update", when=step)
    code, said = await project.tierbot("update")
    assert code == 0, said
    assert said.startswith("The last update was interrupted.\nGoing back to tierbot 0.1.0 …\n")
    assert (project.version, project.commit, project.has_package) == ("tierbot 0.2.0", commit, True)
    assert await project.running()
    assert await answers(on, "after")


@pytest.mark.slow
async def test_packages_that_are_half_replaced_are_taken_back(on: BotHarness, project: Project) -> None:
    project.publish("0.2.0")
    await project.killed("update", when="Installing")
    packages = next((project.clone / ".venv" / "lib").glob("python*")) / "site-packages"
    (packages / "filelock.py").touch()  # as if pip had been killed in the middle of this package
    code, said = await project.tierbot("update")
    assert code == 0, said
    assert said.startswith("The last update was interrupted.\nGoing back to tierbot 0.1.0 …\n")
    assert project.version == "tierbot 0.2.0"
    assert not (packages / "filelock.py").exists()
    assert await answers(on, "after")


@pytest.mark.slow
async def test_a_bot_that_was_never_started_is_updated(on: BotHarness, project: Project) -> None:
    assert (await project.tierbot("service", "uninstall", "--user"))[0] == 0
    for path in sorted(project.workspace.glob("tierbot.db*")):
        path.unlink()
    project.add_migration()
    project.publish("0.2.0")
    code, said = await project.tierbot("update")
    assert code == 0, said
    assert "backup is" not in said
    assert project.version == "tierbot 0.2.0"
    assert not project.database.exists()


@pytest.mark.slow
async def test_without_a_backup_nothing_is_changed(on: BotHarness, project: Project) -> None:
    project.publish("0.2.0")
    (project.workspace / "no-backup").touch()
    code, said = await project.tierbot("update")
    assert code == 2, said
    assert "The disk is full." in said
    assert project.version == "tierbot 0.1.0"
    assert await answers(on, "after")


@pytest.mark.slow
async def test_a_version_that_dies_soon_after_its_start_is_taken_back(on: BotHarness, project: Project) -> None:
    running = (project.work / "bot" / "running.py").read_text(encoding="utf-8")
    waits = "        await _attended(app, stop, attend)\n"
    assert waits in running
    project.publish(
        "0.2.0",
        bot__running=running.replace(waits, '        await asyncio.sleep(1)\n        raise RuntimeError("it dies")\n'),
    )
    code, said = await project.tierbot("update")
    assert code == 1, said
    assert "It ended after its start. The end of its log:" in said or "It does not start." in said
    assert "RuntimeError: it dies" in said
    assert project.version == "tierbot 0.1.0"
    assert await answers(on, "after")
