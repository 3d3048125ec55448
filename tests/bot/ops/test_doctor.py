"""The doctor finds what is wrong, says how to mend it, shows no secret and changes nothing."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from aiohttp import web

from bot.ops import doctor as doctor_module
from bot.ops.checks import configuration, machine, telegram
from bot.ops.checks.finding import Finding, Inspection, ok
from bot.ops.doctor import CHECKS, examine
from bot.settings import load
from bot.workspace import Workspace
from storage import inspection as storage_inspection
from storage.migrate import migrate
from storage.schema import REVISION
from tests.bot.house import always, tierbot
from tests.servers.telegram import TelegramServer
from tests.stories.harness import BotProcess, Stage, stage

POOLS = {f"TIER_{tier}_POOL": "openai/gpt-5.1" for tier in ("BALANCED", "SMART", "CODING", "DEEP")}
KEY = "sk-test-openai-000000000000"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path / "workspace") as made:
        made.env = dict(POOLS)
        yield made


def inspected(on: Stage, **environ: str) -> Inspection:
    """What the doctor is given on this stage."""
    on.write_config()
    (on.workspace / "preferences" / "runtime-config.json").chmod(0o600)
    environment = load(on.environment() | environ)
    return Inspection(environment, Workspace(environment), time.time)


async def findings(on: Stage, **environ: str) -> list[Finding]:
    return await examine(inspected(on, **environ))


async def status(on: Stage, name: str, **environ: str) -> tuple[str, str]:
    """The worst status under a name, and everything said there."""
    mine = [finding for finding in await findings(on, **environ) if finding.name == name]
    worst = next(level for level in ("fail", "warn", "ok") if any(finding.status == level for finding in mine))
    return worst, " ".join(f"{finding.detail} → {finding.mend}" for finding in mine)


def picture(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its time and content; what SQLite shares between readers is not one of ours."""
    files = (path for path in sorted(folder.rglob("*")) if not path.name.endswith("-shm"))
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in files}


def migrated(on: Stage) -> Path:
    migrate(f"sqlite+aiosqlite:///{on.database}", on.workspace / "backups")
    connection = sqlite3.connect(on.database)
    connection.execute("pragma journal_mode = wal")  # as the bot leaves it
    connection.close()
    return on.database


async def test_a_bot_in_order_is_ok_throughout(on: Stage) -> None:
    on.workspace.mkdir()
    migrated(on)
    report = await findings(on)
    assert [finding for finding in report if finding.status != "ok" and finding.name != "sandbox"] == []
    names = {finding.name for finding in report}
    tiers = {"tier balanced", "tier smart", "tier coding", "tier deep"}
    assert tiers | {"telegram", "groups", "updates", "clock", "date", "disk", "database", "access"} <= names
    assert {"provider openai", "voice", "local model", "runtime-config.json"} <= names


async def test_every_complaint_says_how_to_mend_it(on: Stage) -> None:
    broken = {"TELEGRAM_BOT_TOKEN": "1:x", "BOT_ACCESS": "allowlist", "BOT_OWNERS": "", "TRANSCRIPTION_MODEL": "x"}
    report = await findings(on, **broken, OPENAI_API_KEY="")
    assert [finding for finding in report if finding.status != "ok" and not finding.mend] == []
    assert sum(finding.status == "fail" for finding in report) >= 3


async def test_nothing_is_changed_at_rest(on: Stage) -> None:
    on.workspace.mkdir()
    migrated(on)
    inspection = inspected(on)
    before = picture(on.workspace)
    assert len(await examine(inspection)) > 10
    assert picture(on.workspace) == before
    assert not list(on.workspace.glob("tierbot.db-*"))


async def test_it_works_beside_a_running_bot_and_changes_nothing(on: Stage, tmp_path: Path) -> None:
    async with BotProcess(on) as process:
        on.tg.say("hi")
        await on.tg.reply(timeout=60)
        inspection = inspected(on)
        before = {path for path in on.workspace.rglob("*")}
        written = (on.workspace / "tierbot.db").stat().st_mtime_ns
        report = await examine(inspection)
        assert {path for path in on.workspace.rglob("*")} == before
        assert (on.workspace / "tierbot.db").stat().st_mtime_ns == written
        assert "; running in" in report[0].detail
        assert [finding for finding in report if finding.status != "ok" and finding.name != "sandbox"] == []
        on.tg.say("again")
        await on.tg.reply(timeout=60)
        assert await process.terminate() == 0


async def test_the_bot_can_start_after_a_look_at_its_lock(on: Stage) -> None:
    inspection = inspected(on)
    inspection.workspace.prepare()
    assert Workspace(inspection.environment).in_use()
    inspection.workspace.release()
    assert not Workspace(inspection.environment).in_use()
    inspection.workspace.prepare()
    inspection.workspace.release()


async def test_a_workspace_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    environment = load({"WORKSPACE": str(tmp_path / "a" / "b")})
    report = await examine(Inspection(environment, Workspace(environment), time.time))
    assert [finding for finding in report if finding.status == "fail"] == []
    assert not (tmp_path / "a").exists()


async def test_privacy_mode_is_explained(tmp_path: Path, on: Stage) -> None:
    assert "every message" in (await status(on, "groups"))[1]
    async with TelegramServer(privacy=True) as private:
        found = await status(on, "groups", TELEGRAM_BOT_TOKEN=private.token, TELEGRAM_API_ROOT=private.root)
    assert found[0] == "ok"
    assert "/setprivacy" in found[1]


async def test_a_refused_token_is_a_failure(on: Stage) -> None:
    on.tg.revoke()
    worst, said = await status(on, "telegram")
    assert (worst, "@BotFather" in said) == ("fail", True)


async def test_a_telegram_that_is_away_is_a_failure(on: Stage) -> None:
    async with on.tg.outage():
        worst, said = await status(on, "telegram")
    assert (worst, "ConnectError" in said) == ("fail", True)


async def test_a_webhook_left_over_is_named(on: Stage) -> None:
    async with always(200) as base:
        on.tg.updates.set_webhook({"url": f"{base}/hook"})
        worst, said = await status(on, "updates")
        on.tg.updates.set_webhook({})
    assert (worst, "127.0.0.1" in said) == ("warn", True)


async def test_updates_that_wait_beside_a_running_bot_hint_at_a_second_poller(on: Stage) -> None:
    on.tg.say("hello")
    assert "1 wait at Telegram for the bot to start" in (await status(on, "updates"))[1]
    inspection = inspected(on)
    inspection.workspace.prepare()
    try:
        worst, said = await status(on, "updates")
    finally:
        inspection.workspace.release()
    assert (worst, "409" in said) == ("warn", True)


@pytest.mark.parametrize(("offset", "expected"), [(0, "ok"), (20, "ok"), (120, "warn"), (-120, "warn")])
async def test_the_clock_is_held_against_telegrams(on: Stage, offset: float, expected: str) -> None:
    inspection = inspected(on)
    late = Inspection(inspection.environment, inspection.workspace, lambda: time.time() + offset)
    found = {finding.name: finding for finding in await telegram.telegram(late)}
    assert found["clock"].status == expected


@pytest.mark.parametrize(("now", "expected"), [(0.0, "fail"), (1.8e9, "ok"), (5e9, "fail")])
async def test_a_clock_that_was_never_set_is_a_failure(on: Stage, now: float, expected: str) -> None:
    inspection = inspected(on)
    never_set = Inspection(inspection.environment, inspection.workspace, lambda: now)
    assert [finding.status for finding in await machine.year(never_set)] == [expected]


async def test_configuration_files_are_read(on: Stage) -> None:
    on.config = {"modelRoutr": {}, "tools": {"maxChars": 1}}
    worst, said = await status(on, "runtime-config.json")
    assert (worst, "modelRoutr, tools.maxChars" in said) == ("warn", True)
    inspection = inspected(on)
    inspection.workspace.config_file.write_text('{\n "llm": [\n}', encoding="utf-8")
    found = await examine(inspection)
    broken = next(finding for finding in found if finding.name == "runtime-config.json")
    assert (broken.status, "line 3" in broken.detail) == ("fail", True)


async def test_a_mistyped_name_in_dotenv_gets_the_nearest(on: Stage) -> None:
    on.workspace.mkdir()
    (on.workspace / ".env").write_text("TELEGRAM_BOT_TOKN=x\n", encoding="utf-8")
    inspection = inspected(on)
    found = await configuration.settings(inspection)
    assert (found[-1].status, found[-1].mend) == ("warn", "Did you mean TELEGRAM_BOT_TOKEN?")


async def test_secrets_that_others_may_read_are_named(on: Stage) -> None:
    inspection = inspected(on)
    dotenv = inspection.workspace.root / ".env"
    dotenv.write_text("", encoding="utf-8")
    dotenv.chmod(0o644)
    found = (await machine.workspace(inspection))[-1]
    assert (found.status, found.mend) == ("warn", f"chmod 600 {dotenv}")
    dotenv.chmod(0o600)
    assert [finding.status for finding in await machine.workspace(inspection)] == ["ok"]


@pytest.mark.parametrize(("free", "expected"), [(10e9, "ok"), (200e6, "warn"), (10e6, "fail")])
async def test_a_full_disk_is_seen(on: Stage, free: float, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert [finding.status for finding in await machine.disk(inspected(on))] == [expected]


async def test_a_database_of_another_revision(on: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    on.workspace.mkdir()
    migrated(on)
    with monkeypatch.context() as patched:
        patched.setattr(storage_inspection, "REVISION", "8888")
        worst, said = await status(on, "database")
        assert (worst, f"revision {REVISION}" in said) == ("warn", True)
    with sqlite3.connect(on.database) as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    connection.close()
    worst, said = await status(on, "database")
    assert (worst, "9999 is newer" in said) == ("fail", True)


async def test_a_damaged_database_is_a_failure(on: Stage) -> None:
    on.workspace.mkdir()
    data = bytearray(migrated(on).read_bytes())
    data[4096:8192] = b"\xff" * 4096
    on.database.write_bytes(bytes(data))
    assert (await status(on, "database"))[0] == "fail"
    on.database.write_text("this is no database at all, but long enough to have a header" * 40, encoding="utf-8")
    assert (await status(on, "database"))[0] == "fail"


async def test_who_owns_the_bot(on: Stage) -> None:
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


async def test_a_pool_member_without_a_key_and_a_model_nobody_knows(on: Stage) -> None:
    pool = {"TIER_DEEP_POOL": "groq/strange-model, openai/gpt-5.1"}
    worst, said = await status(on, "tier deep", **pool)
    assert worst == "warn"
    assert "openai/gpt-5.1 answers; without a key: groq/strange-model" in said
    assert "GROQ_API_KEY" in said
    assert "not in the catalogue: groq/strange-model" in said


async def test_without_any_key_the_local_model_answers(on: Stage) -> None:
    worst, said = await status(on, "tier smart", OPENAI_API_KEY="", **{name: "groq/x" for name in POOLS})
    assert (worst, "GROQ_API_KEY" in said) == ("warn", True)


async def test_a_model_that_its_provider_does_not_list(on: Stage) -> None:
    worst, said = await status(on, "provider openai", TIER_DEEP_POOL="openai/gpt-5.9")
    assert (worst, "openai/gpt-5.9" in said) == ("warn", True)


@pytest.mark.parametrize(("code", "expected"), [(401, "fail"), (503, "warn")])
async def test_a_provider_that_refuses(on: Stage, code: int, expected: str) -> None:
    async with always(code) as base:
        on.config = {"llm": {"providers": {"openai": {"baseUrl": base}}}}
        assert (await status(on, "provider openai"))[0] == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [("", "ok"), ("openai/whisper-1", "ok"), ("groq/whisper", "fail"), ("whisper", "fail"), ("local/x", "fail")],
)
async def test_the_transcription_model(on: Stage, model: str, expected: str) -> None:
    assert (await status(on, "voice", TRANSCRIPTION_MODEL=model))[0] == expected


@asynccontextmanager
async def answering(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_services_are_asked_at_the_same_time(on: Stage) -> None:
    everyone = asyncio.Barrier(3)

    async def answer(request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("getWebhookInfo"):
            await everyone.wait()
        return web.json_response({"ok": True, "result": {"username": "b"}, "data": [{"id": "gpt-5.1"}]})

    async with answering(answer) as base:
        providers = {name: {"baseUrl": base, "apiKey": "k"} for name in ("openai", "mine")}
        on.config = {"llm": {"providers": providers}}
        report = await findings(on, TELEGRAM_API_ROOT=base)
    asked = [finding.status for finding in report if finding.name in ("telegram", "provider openai", "provider mine")]
    assert asked == ["ok", "ok", "ok"]


async def test_a_service_that_never_answers_is_not_waited_for(on: Stage) -> None:
    silence = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        await silence.wait()
        return web.Response()

    async with answering(answer) as base:
        on.config = {"llm": {"providers": {"openai": {"baseUrl": base}}}}
        inspection = inspected(on, TELEGRAM_API_ROOT=base)
        brief = Inspection(inspection.environment, inspection.workspace, time.time, network_seconds=0.2)
        report = await examine(brief)
        silence.set()
    late = {finding.name: finding for finding in report if finding.name in ("telegram", "provider openai")}
    assert {finding.status for finding in late.values()} == {"fail"}
    assert all("0.2 s" in finding.detail for finding in late.values())


async def test_a_check_that_breaks_hides_no_other(on: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(inspection: Inspection) -> list[Finding]:
        raise KeyError("surprise")

    async def endless(inspection: Inspection) -> list[Finding]:
        await asyncio.Event().wait()
        return []

    async def well(inspection: Inspection) -> list[Finding]:
        return [ok("well", "so")]

    monkeypatch.setattr(doctor_module, "LONGEST_SECONDS", 0.1)
    report = await examine(inspected(on), [broken, endless, well])
    assert [(finding.name, finding.status) for finding in report] == [
        ("broken", "fail"),
        ("endless", "fail"),
        ("well", "ok"),
    ]
    assert "surprise" in report[0].detail


async def test_the_report_for_machines_has_no_secret_and_the_exit_code_tells(on: Stage) -> None:
    inspected(on)
    environ = on.environment() | {"DATABASE_URL": "postgresql+asyncpg://me:s3cret-word@127.0.0.1:9/x"}
    del environ["WORKSPACE"]
    environ["TIER_DEEP_POOL"] = f"openai/gpt-5.1, openai/{KEY}"  # pasted into the wrong place
    code, output, complaint = await tierbot(on.workspace, "doctor", "--json", **environ)
    report = json.loads(output)
    assert "openai/***" in output
    assert (code, complaint) == (1, "")
    assert set(report) == {"checks"}
    assert all(set(check) == {"name", "status", "detail", "mend"} for check in report["checks"])
    assert [check["name"] for check in report["checks"] if check["status"] == "fail"] == ["database"]
    for secret in ("s3cret-word", on.tg.token, KEY):
        assert secret not in output


async def test_the_report_for_people_has_a_line_each_and_ends_with_a_count(on: Stage) -> None:
    inspection = inspected(on)
    environ = on.environment()
    del environ["WORKSPACE"]
    code, output, _ = await tierbot(on.workspace, "doctor", **environ)
    assert code == 0
    lines = [line for line in output.splitlines() if not line.startswith(" ")]
    assert len(lines) == len(await examine(inspection)) + 1
    assert lines[-1].endswith(" 0 fail")


async def test_an_environment_that_cannot_be_read_is_a_report_too(tmp_path: Path) -> None:
    code, output, complaint = await tierbot(tmp_path, "doctor", "--json", LOG_LEVEL="loud")
    assert (code, complaint) == (1, "")
    checks = json.loads(output)["checks"]
    assert [(check["name"], check["status"]) for check in checks] == [("environment", "fail")]


def test_the_checks_are_all_of_the_folder() -> None:
    folder = Path(doctor_module.__file__).parent / "checks"
    modules = {f"bot.ops.checks.{path.stem}" for path in folder.glob("*.py")} - {
        "bot.ops.checks.__init__",
        "bot.ops.checks.finding",
    }
    assert {check.__module__ for check in CHECKS} == modules
    assert set(asdict(ok("a", "b"))) == {"name", "status", "detail", "mend"}


async def test_a_broken_skill_is_named_and_the_others_are_not(on: Stage) -> None:
    for name, text in (("good", "---\ndescription: Fine.\n---\nDo."), ("bad", "---\nmodel_tier: turbo\n---\nDo.")):
        (on.workspace / "skills" / name).mkdir(parents=True)
        (on.workspace / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
    worst, said = await status(on, "skills")
    assert worst == "warn" and "bad is skipped" in said and "good" in said
