"""The owner's edits apply while the bot runs, also after an error."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.live_config import LiveConfig, WorkspaceFiles, warn_of_levels
from routing.errors import Reason
from routing.policy.models import Models


class FailingTooling:
    """Tools whose refresh fails twice; in between the owner writes new instructions."""

    def __init__(self, instructions: Path) -> None:
        self.well = asyncio.Event()
        self._instructions = instructions
        self._rounds = 0

    async def refresh(self) -> None:
        self._rounds += 1
        if self._rounds == 1:
            self._instructions.write_text("Be brief, and say so.", encoding="utf-8")
        if self._rounds < 3:
            raise OverflowError("int too large to convert to float")
        self.well.set()


class FakeHealth:
    """Holds only the configuration error."""

    config_fault: Reason | None = None


async def test_a_failed_reload_is_logged_once_and_retried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.live_config.RELOAD_SECONDS", 0)
    workspace = Workspace(load({"WORKSPACE": str(tmp_path)}))
    workspace.prepare()
    owner_files, models = WorkspaceFiles(workspace), Models(workspace.config(), workspace.catalog())
    tooling: Any = FailingTooling(tmp_path / "SYSTEM.md")
    health: Any = FakeHealth()

    async def tell(template: str, /, **values: object) -> None: ...

    live = LiveConfig(workspace, models, owner_files, tooling, health, tell)
    keeping = asyncio.create_task(live.keep_fresh())
    try:
        async with asyncio.timeout(60):
            await tooling.well.wait()
    finally:
        keeping.cancel()
    assert owner_files.instructions() == "Be brief, and say so."
    assert [record.message for record in caplog.records].count(
        "The edit can't be applied. The last valid configuration stays in use."
    ) == 1  # fmt: skip


def test_keys_and_pools_apply_live_and_a_token_needs_a_restart(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("TELEGRAM_BOT_TOKEN=1:a\n", encoding="utf-8")
    environment = load({"WORKSPACE": str(tmp_path)})
    workspace = Workspace(environment)
    assert workspace.config().profile("gemini").api_key is None
    lines = ["GEMINI_API_KEY=sk-new", "TIER_SMART_POOL=gemini/a", "TELEGRAM_BOT_TOKEN=1:b", "LOG_LEVEL=DEBUG"]
    env.write_text("\n".join(lines), encoding="utf-8")
    assert workspace.reload_environment() == ("TELEGRAM_BOT_TOKEN", "LOG_LEVEL")
    config = workspace.config()
    assert config.profile("gemini").api_key == "sk-new"
    assert config.pools["smart"] == ("gemini/a",)
    assert environment.settings.log_level == "INFO", "only settings read later change"
    assert env in workspace.stamps()


def test_what_models_are_told_of_the_settings_is_live(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    environment = load({"WORKSPACE": str(tmp_path)})
    env.write_text(f"WEB_SEARCH=off\nSHARED_FOLDER={tmp_path}\n", encoding="utf-8")
    assert Workspace(environment).reload_environment() == ()
    assert environment.settings.visible["WEB_SEARCH"] == "off"
    assert environment.settings.shared_folder == str(tmp_path)


def test_a_reasoning_level_without_effect_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    workspace = Workspace(load({"WORKSPACE": str(tmp_path), "TIER_DEEP_POOL": "openai/strange-1"}))
    workspace.prepare()
    levels = {"smartModelReasoning": "ultra", "deepModelReasoning": "high", "codingModelReasoning": "HIGH"}
    config = tmp_path / "preferences" / "runtime-config.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"modelRouter": levels}), encoding="utf-8")
    warn_of_levels(Models(workspace.config(), workspace.catalog()))
    lines = [record.getMessage() for record in caplog.records if "ModelReasoning" in record.getMessage()]
    assert len(lines) == 2
    for line, words in zip(lines, (("smart", "ultra", "openai/gpt-5.1", "none, low"), ("deep", "high")), strict=True):
        assert all(word in line for word in words)
