"""The DISCORD_… variables."""

from __future__ import annotations

from pathlib import Path

from bot.settings import load, unknown_variables


def test_discord_is_off_unless_there_is_a_token(tmp_path: Path) -> None:
    told = load({"WORKSPACE": str(tmp_path)}).settings
    assert (told.discord_bot_token, told.discord_sharded, told.discord_threads) == (None, False, False)
    assert told.discord_api_root == "https://discord.com/api/v10"
    assert told.discord_gateway_url == "wss://gateway.discord.gg/"


def test_the_discord_token_may_be_a_file_and_is_secret(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a.b.secret-1\n", encoding="utf-8")
    given = {
        "WORKSPACE": str(tmp_path),
        "DISCORD_BOT_TOKEN_FILE": str(tmp_path / "token"),
        "DISCORD_PROXY": "http://u:secret-2@proxy:1",
        "DISCORD_SHARDED": "true",
        "DISCORD_THREADS": "yes",
    }
    environment = load(given)
    told = environment.settings
    assert told.discord_bot_token is not None
    assert told.discord_bot_token.get_secret_value() == "a.b.secret-1"
    assert told.discord_sharded
    assert told.discord_threads
    assert {"a.b.secret-1", "secret-2"} <= set(environment.secrets())
    assert "secret-1" not in repr(told)
    (tmp_path / ".env").write_text("DISCORD_TOKEN=x\nDISCORD_BOT_TOKEN_FILE=y\n", encoding="utf-8")
    assert unknown_variables(tmp_path / ".env") == ("DISCORD_TOKEN",)
