"""The doctor's text and JSON reports have no secrets, even if a check crashes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from bot.findings import Finding, ok
from bot.ops import doctor as doctor_module
from bot.ops.checks.inspection import Inspection
from bot.ops.doctor import CHECKS, examine
from tests.bot.cli import tierbot
from tests.bot.ops.doctor import KEY, findings, inspected
from tests.stories.harness import BotHarness


async def test_every_finding_says_how_to_fix_it(on: BotHarness) -> None:
    broken = {"TELEGRAM_BOT_TOKEN": "1:x", "BOT_ACCESS": "allowlist", "BOT_OWNERS": "", "TRANSCRIPTION_MODEL": "x"}
    report = await findings(on, **broken, OPENAI_API_KEY="")
    assert [finding for finding in report if finding.status != "ok" and not finding.fix] == []
    assert sum(finding.status == "fail" for finding in report) >= 3


async def test_a_crashing_check_hides_no_other(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(inspection: Inspection) -> list[Finding]:
        raise KeyError("surprise")

    async def endless(inspection: Inspection) -> list[Finding]:
        await asyncio.Event().wait()
        return []

    async def well(inspection: Inspection) -> list[Finding]:
        return [ok("well", "so")]

    monkeypatch.setattr(doctor_module, "MAX_CHECK_SECONDS", 0.1)
    report = await examine(inspected(on), [broken, endless, well])
    assert [(finding.name, finding.status) for finding in report] == [
        ("broken", "fail"),
        ("endless", "fail"),
        ("well", "ok"),
    ]
    assert "surprise" in report[0].detail


async def test_the_json_report_has_no_secret_and_an_exit_code(on: BotHarness) -> None:
    inspected(on)
    environ = on.environment() | {"DATABASE_URL": "postgresql+asyncpg://me:s3cret-word@127.0.0.1:9/x"}
    del environ["WORKSPACE"]
    environ["TIER_DEEP_POOL"] = f"openai/gpt-5.1, openai/{KEY}"  # pasted into the wrong place
    code, output, stderr = await tierbot(on.workspace, "doctor", "--json", **environ)
    report = json.loads(output)
    assert "openai/***" in output
    assert (code, stderr) == (1, "")
    assert set(report) == {"checks"}
    assert all(set(check) == {"name", "status", "detail", "fix"} for check in report["checks"])
    assert [check["name"] for check in report["checks"] if check["status"] == "fail"] == ["database"]
    for secret in ("s3cret-word", on.tg.token, KEY):
        assert secret not in output


async def test_the_report_has_no_secret_of_mcp_json(on: BotHarness) -> None:
    inspected(on)
    office = {"command": "false", "args": ["--token=${OFFICE_TOKEN}"]}
    (on.workspace / "mcp.json").write_text(json.dumps({"mcpServers": {"office": office}}), "utf-8")
    secret = "office-token-0815"
    environ = on.environment() | {"OFFICE_TOKEN": secret, "TIER_DEEP_POOL": f"openai/{secret}"}  # in the wrong place
    del environ["WORKSPACE"]
    _, output, stderr = await tierbot(on.workspace, "doctor", "--json", **environ)
    assert "openai/***" in output
    assert secret not in output + stderr


async def test_the_text_report_has_a_line_per_finding_and_a_count(on: BotHarness) -> None:
    inspection = inspected(on)
    environ = on.environment()
    del environ["WORKSPACE"]
    code, output, _ = await tierbot(on.workspace, "doctor", **environ)
    assert code == 0
    lines = [line for line in output.splitlines() if not line.startswith(" ")]
    assert len(lines) == len(await examine(inspection)) + 1
    assert lines[-1].endswith(" 0 fail")


async def test_every_environment_error_is_listed_once(tmp_path: Path) -> None:
    wrong = "LOG_LEVEL=loud\nUSER_RATE_LIMIT=20/fortnight\nTIER_SMART_POOL=gpt\nnot a setting\nOPENAI_KEY=x\n"
    (tmp_path / ".env").write_text(wrong, encoding="utf-8")
    code, output, stderr = await tierbot(tmp_path, "doctor", "--json", WORKSPACE=str(tmp_path))
    assert (code, stderr) == (1, "")
    checks = json.loads(output)["checks"]
    failed = [check["detail"] for check in checks if check["status"] == "fail"]
    named = ("line 4: not of the form", "LOG_LEVEL is not valid", "USER_RATE_LIMIT must", "TIER_SMART_POOL must")
    assert [sum(name in each for each in failed) for name in named] == [1, 1, 1, 1]
    assert len(failed) == len(named)
    assert any("OPENAI_API_KEY" in check["fix"] for check in checks if "OPENAI_KEY" in check["detail"])
    assert any(check["name"] == "database" for check in checks)


async def test_a_start_names_every_environment_error(tmp_path: Path) -> None:
    environ = {"LOG_LEVEL": "loud", "USER_RATE_LIMIT": "20/fortnight"}
    code, _, stderr = await tierbot(tmp_path, "chat", WORKSPACE=str(tmp_path), **environ)
    assert (code, len(stderr.splitlines())) == (2, 2)


def test_every_check_module_is_listed() -> None:
    folder = Path(doctor_module.__file__).parent / "checks"
    modules = {f"bot.ops.checks.{path.stem}" for path in folder.glob("*.py")} - {
        "bot.ops.checks.__init__",
        "bot.ops.checks.inspection",
    }
    assert {check.__module__ for check in CHECKS} == modules
    assert set(asdict(ok("a", "b"))) == {"name", "status", "detail", "fix"}
