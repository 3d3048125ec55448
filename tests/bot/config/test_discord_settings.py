"""The DISCORD_… variables."""

from __future__ import annotations

from pathlib import Path

from bot.config.environment import load, unknown_variables


def test_discord_is_off_unless_there_is_a_token(tmp_path: Path) -> None:
    settings = load({"WORKSPACE": str(tmp_path)}).settings
    assert (settings.discord_bot_token, settings.discord_sharded, settings.discord_threads) == (None, False, False)
    assert settings.discord_api_root == "https://discord.com/api/v10"
    assert settings.discord_gateway_url == "wss://gateway.discord.gg/"


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
    settings = environment.settings
    assert settings.discord_bot_token is not None
    assert settings.discord_bot_token.get_secret_value() == "a.b.secret-1"
    assert settings.discord_sharded
    assert settings.discord_threads
    assert {"a.b.secret-1", "secret-2"} <= set(environment.secrets())
    assert "secret-1" not in repr(settings)
    (tmp_path / ".env").write_text("DISCORD_TOKEN=x\nDISCORD_BOT_TOKEN_FILE=y\n", encoding="utf-8")
    assert unknown_variables(tmp_path / ".env") == ("DISCORD_TOKEN",)
