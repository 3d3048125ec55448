"""The doctor's input and findings."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.findings import Finding
from bot.ops.checks.inspection import Inspection
from bot.ops.doctor import examine
from storage.database.migrate import migrate
from tests.stories.harness import BotHarness

POOLS = {f"TIER_{tier}_POOL": "openai/gpt-5.1" for tier in ("BALANCED", "SMART", "CODING", "DEEP")}
TIMEOUT_SECONDS = 60.0
"""Timeout in seconds for services that answer, even on a busy machine."""
KEY = "sk-test-openai-000000000000"


def inspected(on: BotHarness, **environ: str) -> Inspection:
    """The doctor's input for this bot."""
    on.write_config()
    on.workspace.chmod(0o700)
    (on.workspace / "preferences" / "runtime-config.json").chmod(0o600)
    environment = load(on.environment() | environ)
    return Inspection(environment, Workspace(environment), time.time, TIMEOUT_SECONDS)


async def findings(on: BotHarness, **environ: str) -> list[Finding]:
    return await examine(inspected(on, **environ))


async def status(on: BotHarness, name: str, **environ: str) -> tuple[str, str]:
    """The worst status under a name, and all its messages."""
    mine = [finding for finding in await findings(on, **environ) if finding.name == name]
    worst = next(level for level in ("fail", "warn", "ok") if any(finding.status == level for finding in mine))
    return worst, " ".join(f"{finding.detail} → {finding.fix}" for finding in mine)


def migrated(on: BotHarness) -> Path:
    migrate(f"sqlite:///{on.database}", on.workspace / "backups")
    connection = sqlite3.connect(on.database)
    connection.execute("pragma journal_mode = wal")  # as the bot leaves it
    connection.close()
    on.database.chmod(0o600)
    return on.database
