"""The command line: exit codes and messages."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.cli import _COMMANDS
from bot.platforms import PLATFORMS
from storage.schema import REVISION
from tests.bot.cli import always, configured, tierbot
from tests.servers.model import ModelServer

KEY = "sk-test-0000000000000000"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"^    {name}\s", shown, re.MULTILINE) for name in _COMMANDS)


@pytest.mark.parametrize("arguments", [[], ["dance"], ["models"], ["models", "discover"]])
def test_an_unknown_or_missing_command_says_what_is_valid(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: tierbot" in capsys.readouterr().err


async def test_run_without_a_token_names_setup_the_variables_and_chat(tmp_path: Path) -> None:
    variables = " or ".join(platform.enabled_by.upper() for platform in PLATFORMS)
    code, output, stderr = await tierbot(tmp_path / "ws", "run")
    assert (code, output) == (2, "")
    assert stderr == (
        f"tierbot: No chat platform is configured: run `tierbot setup`, or set {variables} in "
        f"{tmp_path / 'ws' / '.env'}, or talk here with `tierbot chat`.\n"
    )


async def test_a_wrong_variable_is_reported_in_one_sentence(tmp_path: Path) -> None:
    code, output, stderr = await tierbot(tmp_path / "ws", "run", USER_RATE_LIMIT="many")
    assert (code, output) == (2, "")
    assert stderr.startswith("tierbot: USER_RATE_LIMIT must look like")
    assert stderr.count("\n") == 1


@pytest.mark.parametrize("model", ["~nosuchuser/x", "x" * 300])
async def test_an_impossible_model_folder_is_reported_in_one_sentence(tmp_path: Path, model: str) -> None:
    given = f"sentence-transformers:{model}"
    code, output, stderr = await tierbot(tmp_path / "ws", "chat", EMBEDDINGS=given)
    assert (code, output) == (2, "")
    assert stderr.startswith(f"tierbot: EMBEDDINGS={given[:80]}")
    assert stderr.count("\n") == 1
    code, output, stderr = await tierbot(tmp_path / "ws", "doctor", EMBEDDINGS=given)
    assert (code, stderr) == (1, "")
    assert " ".join(output.split()).startswith(f"fail environment EMBEDDINGS={given[:80]}")
    assert "broke off" not in output


async def test_secrets_are_hidden_in_error_messages(tmp_path: Path) -> None:
    token = "123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr"
    code, _, stderr = await tierbot(tmp_path / "ws", "run", TELEGRAM_BOT_TOKEN=token, TELEGRAM_API_ROOT=token)
    assert (code, token in stderr) == (2, False)
    assert "TELEGRAM_API_ROOT" in stderr


async def test_migrate_creates_the_database_once(tmp_path: Path) -> None:
    assert await tierbot(tmp_path / "ws", "migrate") == (0, "Migrated from an empty database.\n", "")
    with sqlite3.connect(tmp_path / "ws" / "tierbot.db") as connection:
        assert connection.execute("select version_num from alembic_version").fetchone() == (REVISION,)
    assert await tierbot(tmp_path / "ws", "migrate") == (0, "The database is at the current revision.\n", "")


async def test_models_list_is_the_catalogue(tmp_path: Path) -> None:
    code, output, stderr = await tierbot(tmp_path / "ws", "models", "list")
    assert (code, stderr) == (0, "")
    assert "openai/gpt-5.1  " in output
    assert not (tmp_path / "ws").exists()


async def test_discover_without_a_key_says_which_variable(tmp_path: Path) -> None:
    code, output, stderr = await tierbot(tmp_path / "ws", "models", "discover", "openai")
    assert (code, output) == (1, "")
    assert stderr == "tierbot: No key for openai: set OPENAI_API_KEY or llm.providers.openai.apiKey.\n"


async def test_discover_prints_and_stores_the_providers_models(tmp_path: Path) -> None:
    async with ModelServer() as ms:
        workspace = configured(tmp_path / "ws", ms.openai_base)
        code, output, stderr = await tierbot(workspace, "models", "discover", "openai", OPENAI_API_KEY=KEY)
    assert (code, stderr) == (0, "")
    assert "openai/gpt-5.2-codex  gpt-5.2-codex" in output.splitlines()
    kept = json.loads((workspace / "models" / "discovered.json").read_text(encoding="utf-8"))
    assert "openai/gpt-5.1" in [row["id"] for row in kept["openai"]]


async def test_discover_reports_a_broken_provider_and_stores_nothing(tmp_path: Path) -> None:
    async with always(500) as base:
        workspace = configured(tmp_path / "ws", base)
        code, output, stderr = await tierbot(workspace, "models", "discover", "openai", OPENAI_API_KEY=KEY)
    assert (code, output) == (1, "")
    assert stderr == "tierbot: openai answered HTTP 500 when asked for its models.\n"
    assert not (workspace / "models" / "discovered.json").exists()


async def test_a_key_for_a_provider_with_a_dash_comes_from_its_variable(tmp_path: Path) -> None:
    async with ModelServer() as ms:
        workspace = configured(tmp_path / "ws", ms.openai_base, "my-router")
        found = await tierbot(workspace, "models", "discover", "my-router", MY_ROUTER_API_KEY=KEY)
    assert found[0] == 0
    assert "my-router/gpt-5.1" in found[1]
