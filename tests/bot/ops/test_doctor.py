"""The doctor finds problems in the workspace and on the machine, and changes nothing."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.observability.logs import Redactor
from bot.ops.checks import configuration, machine
from bot.ops.checks.inspection import Inspection
from bot.ops.doctor import examine
from storage.database import inspection as storage_inspection
from storage.schema import REVISION
from tests.bot.ops.doctor import findings, inspected, migrated, status
from tests.stories.harness import BotHarness, BotProcess


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """The time and content of every file, except SQLite's shared files."""
    files = (path for path in sorted(folder.rglob("*")) if not path.name.endswith("-shm"))
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in files}


async def test_a_healthy_bot_passes_every_check(on: BotHarness) -> None:
    on.workspace.mkdir()
    migrated(on)
    report = await findings(on)
    strange = [each for each in report if each.status != "ok" and not each.name.startswith(("sandbox", "pool "))]
    assert strange == []
    names = {finding.name for finding in report}
    tiers = {"tier balanced", "tier smart", "tier coding", "tier deep"}
    assert tiers | {"telegram", "groups", "updates", "clock", "date", "disk", "database", "access"} <= names
    assert {"provider openai", "voice", "local model", "runtime-config.json"} <= names


async def test_the_doctor_changes_nothing(on: BotHarness) -> None:
    on.workspace.mkdir()
    migrated(on)
    inspection = inspected(on)
    before = snapshot(on.workspace)
    assert len(await examine(inspection)) > 10
    assert snapshot(on.workspace) == before
    assert not list(on.workspace.glob("tierbot.db-*"))


async def test_the_doctor_works_beside_a_running_bot(on: BotHarness, tmp_path: Path) -> None:
    async with BotProcess(on) as process:
        on.tg.say("hi")
        await on.tg.reply()
        inspection = inspected(on)
        before = _paths(on)
        written = (on.workspace / "tierbot.db").stat().st_mtime_ns
        report = await examine(inspection)
        assert _paths(on) == before
        assert (on.workspace / "tierbot.db").stat().st_mtime_ns == written
        assert "; running in" in report[0].detail
        strange = [each for each in report if each.status != "ok" and not each.name.startswith(("sandbox", "pool "))]
        assert strange == []
        on.tg.say("again")
        await on.tg.reply()
        assert await process.terminate() == 0


def _paths(on: BotHarness) -> set[Path]:
    """Everything in the workspace but `cache`, which the bot itself fills some time after its start."""
    return {path for path in on.workspace.rglob("*") if "cache" not in path.relative_to(on.workspace).parts}


async def test_the_bot_can_start_after_the_lock_check(on: BotHarness) -> None:
    inspection = inspected(on)
    inspection.workspace.prepare()
    assert Workspace(inspection.environment).in_use()
    inspection.workspace.release()
    assert not Workspace(inspection.environment).in_use()
    inspection.workspace.prepare()
    inspection.workspace.release()


async def test_a_missing_workspace_is_not_created(tmp_path: Path) -> None:
    environment = load({"WORKSPACE": str(tmp_path / "a" / "b")})
    report = await examine(Inspection(environment, Workspace(environment), time.time))
    assert [finding for finding in report if finding.status == "fail"] == []
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(("now", "expected"), [(0.0, "fail"), (1.8e9, "ok"), (5e9, "fail")])
async def test_a_clock_that_was_never_set_is_a_failure(on: BotHarness, now: float, expected: str) -> None:
    inspection = inspected(on)
    never_set = Inspection(inspection.environment, inspection.workspace, lambda: now)
    assert [finding.status for finding in await machine.year(never_set)] == [expected]


async def test_configuration_files_are_checked(on: BotHarness) -> None:
    on.config = {"modelRoutr": {}, "tools": {"maxChars": 1}}
    worst, detail = await status(on, "runtime-config.json")
    assert worst == "warn"
    assert "modelRoutr is not a known key → Did you mean modelRouter?" in detail
    assert "tools.maxChars is not a known key" in detail
    assert Redactor(()).clean(detail) == detail, "the report shows it"
    inspection = inspected(on)
    inspection.workspace.config_file.write_text('{\n "llm": [\n}', encoding="utf-8")
    found = await examine(inspection)
    [broken] = [finding for finding in found if "runtime-config.json line" in finding.detail]
    assert (broken.name, broken.status, "line 3" in broken.detail) == ("runtime-config.json", "fail", True)


async def test_a_typo_in_dotenv_gets_a_suggestion(on: BotHarness) -> None:
    on.workspace.mkdir()
    (on.workspace / ".env").write_text("TELEGRAM_BOT_TOKN=x\n", encoding="utf-8")
    inspection = inspected(on)
    found = await configuration.settings(inspection)
    assert (found[-1].status, found[-1].fix) == ("warn", "Did you mean TELEGRAM_BOT_TOKEN?")


async def test_secrets_that_others_may_read_are_named(on: BotHarness) -> None:
    inspection = inspected(on)
    dotenv = inspection.workspace.root / ".env"
    dotenv.write_text("", encoding="utf-8")
    dotenv.chmod(0o644)
    found = (await machine.workspace(inspection))[-1]
    assert (found.status, found.fix) == ("warn", f"chmod 600 {dotenv}")
    dotenv.chmod(0o600)
    assert [finding.status for finding in await machine.workspace(inspection)] == ["ok"]


@pytest.mark.parametrize(("free", "expected"), [(10e9, "ok"), (200e6, "warn"), (10e6, "fail")])
async def test_a_full_disk_is_reported(
    on: BotHarness, free: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert [finding.status for finding in await machine.disk(inspected(on))] == [expected]


async def test_a_database_of_another_revision(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    on.workspace.mkdir()
    migrated(on)
    with monkeypatch.context() as patched:
        patched.setattr(storage_inspection, "REVISION", "8888")
        worst, detail = await status(on, "database")
        assert (worst, f"revision {REVISION}" in detail) == ("warn", True)
    with sqlite3.connect(on.database) as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    connection.close()
    worst, detail = await status(on, "database")
    assert (worst, "9999 is newer" in detail) == ("fail", True)


async def test_a_damaged_database_is_a_failure(on: BotHarness) -> None:
    on.workspace.mkdir()
    data = bytearray(migrated(on).read_bytes())
    data[4096:8192] = b"\xff" * 4096
    on.database.write_bytes(bytes(data))
    assert (await status(on, "database"))[0] == "fail"
    on.database.write_text("this is no database at all, but long enough to have a header" * 40, encoding="utf-8")
    assert (await status(on, "database"))[0] == "fail"


async def test_the_retention_setting_is_shown(on: BotHarness) -> None:
    on.workspace.mkdir()
    migrated(on)
    worst, detail = await status(on, "retention", RETENTION_DAYS="30")
    assert (worst, "after 30 days" in detail) == ("ok", True)


async def test_owners_are_reported(on: BotHarness) -> None:
    on.workspace.mkdir()
    migrated(on)
    assert (await status(on, "access"))[0] == "ok"
    assert (await status(on, "access", BOT_OWNERS=""))[0] == "warn"
    assert (await status(on, "access", BOT_OWNERS="", BOT_ACCESS="allowlist"))[0] == "fail"
    assert (await status(on, "access", BOT_ACCESS="open"))[0] == "warn"
    with sqlite3.connect(on.database) as connection:
        connection.execute("insert into people (name, role, created_at) values ('A', 'owner', 0)")
    connection.close()
    assert (await status(on, "access", BOT_OWNERS="", BOT_ACCESS="allowlist"))[0] == "ok"


async def test_only_a_broken_skill_is_named(on: BotHarness) -> None:
    for name, text in (("good", "---\ndescription: Fine.\n---\nDo."), ("bad", "---\nmodel_tier: turbo\n---\nDo.")):
        (on.workspace / "skills" / name).mkdir(parents=True)
        (on.workspace / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
    worst, detail = await status(on, "skills")
    assert worst == "warn"
    assert "bad is skipped" in detail
    assert "good" in detail
