"""Sources and precedence of settings; errors name the variable and hide the value."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config.environment import default_workspace, load, unknown_variables
from bot.config.settings import VISIBLE, Settings
from routing.errors import ConfigError
from routing.types.messages import UserKey
from tests.pages import first_cells

SECRET = "hunter2-correct-horse"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def workspace(tmp_path: Path, dotenv: str = "") -> dict[str, str]:
    written(tmp_path / "ws" / ".env", dotenv)
    return {"WORKSPACE": str(tmp_path / "ws")}


def token(environ: dict[str, str]) -> str | None:
    found = load(environ).settings.telegram_bot_token
    return found.get_secret_value() if found else None


def test_the_environment_wins_over_credentials_over_dotenv_over_the_default(tmp_path: Path) -> None:
    environ = workspace(tmp_path, "TELEGRAM_BOT_TOKEN=1:dotenv\nLOG_LEVEL=ERROR\n")
    assert token(environ) == "1:dotenv"
    written(tmp_path / "credentials" / "telegram_bot_token", "1:credential\n")
    environ["CREDENTIALS_DIRECTORY"] = str(tmp_path / "credentials")
    assert token(environ) == "1:credential"
    environ["TELEGRAM_BOT_TOKEN"] = "1:environment"
    assert token(environ) == "1:environment"
    settings = load(environ).settings
    assert (settings.log_level, settings.log_format) == ("ERROR", "text")


def test_a_secret_file_has_the_precedence_of_its_source(tmp_path: Path) -> None:
    file = written(tmp_path / "token", "  1:file\n")
    environ = workspace(tmp_path, "TELEGRAM_BOT_TOKEN=1:dotenv\n")
    assert token(environ | {"TELEGRAM_BOT_TOKEN_FILE": str(file)}) == "1:file"
    both = {"TELEGRAM_BOT_TOKEN_FILE": str(file), "TELEGRAM_BOT_TOKEN": "1:plain"}
    assert token(environ | both) == "1:plain"
    named_in_dotenv = workspace(tmp_path, f"TELEGRAM_BOT_TOKEN_FILE={file}\n")
    assert token(named_in_dotenv) == "1:file"
    assert token(named_in_dotenv | {"TELEGRAM_BOT_TOKEN": "1:plain"}) == "1:plain"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "TELEGRAM_WEBHOOK_SECRET", "TIERBOT_MCP_TOKEN", "DATABASE_URL"])
def test_every_secret_may_be_a_file(tmp_path: Path, name: str) -> None:
    environment = load({"WORKSPACE": str(tmp_path), f"{name}_FILE": str(written(tmp_path / "s", SECRET))})
    settings = environment.settings
    secrets = (settings.telegram_webhook_secret, settings.tierbot_mcp_token)
    texts = (secret.get_secret_value() for secret in secrets if secret)
    found = (environment.keys.get("openai"), settings.database_url, *texts)
    assert SECRET in found


def test_other_programs_files_are_ignored(tmp_path: Path) -> None:
    load({"WORKSPACE": str(tmp_path), "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "absent")})


def test_a_missing_file_is_reported_with_its_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^TELEGRAM_BOT_TOKEN_FILE names a file that can't be read: No such file"):
        load({"WORKSPACE": str(tmp_path), "TELEGRAM_BOT_TOKEN_FILE": str(tmp_path / "absent")})


def test_undecodable_bytes_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe" + SECRET.encode())
    with pytest.raises(ConfigError, match="not UTF-8 text") as refused:
        load({"WORKSPACE": str(tmp_path), "OPENAI_API_KEY_FILE": str(tmp_path / "key")})
    assert SECRET not in str(refused.value)


def test_a_blank_variable_means_the_default(tmp_path: Path) -> None:
    environ = {"WORKSPACE": " ", "TELEGRAM_BOT_TOKEN": "", "LOG_LEVEL": "  ", "OPENAI_API_KEY": " "}
    environment = load(environ)
    assert environment.settings == Settings.model_validate({"workspace": Path("workspace").absolute()})
    assert environment.keys == {}


def test_values_are_stripped(tmp_path: Path) -> None:
    assert token({"WORKSPACE": str(tmp_path), "TELEGRAM_BOT_TOKEN": " 1:x\n"}) == "1:x"


def test_variable_names_are_case_insensitive_and_providers_lower_case(tmp_path: Path) -> None:
    environment = load({"workspace": str(tmp_path), "my_router_api_key": "k", "_API_KEY": "x"})
    assert environment.settings.workspace == tmp_path
    assert environment.keys == {"my_router": "k"}


def test_a_tilde_is_expanded_in_the_workspace_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    written(tmp_path / "ws" / ".env", "LOG_LEVEL=ERROR")
    settings = load({"WORKSPACE": "~/ws"}).settings
    assert (settings.workspace, settings.log_level) == (tmp_path / "ws", "ERROR")


def test_dotenv_does_not_expand_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/expanded")
    assert load(workspace(tmp_path, "OPENAI_API_KEY=a${HOME}b\n")).keys["openai"] == "a${HOME}b"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOG_LEVEL", SECRET),
        ("LOG_FORMAT", SECRET),
        ("BOT_ACCESS", SECRET),
    ],
)
def test_errors_name_the_variable_and_hide_the_value(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load({"WORKSPACE": str(tmp_path), name: value})
    assert str(refused.value).startswith(f"{name} is not valid")
    assert value not in str(refused.value)


@pytest.mark.parametrize(("name", "shortest"), [("ADMIN_TOKEN", 16), ("BACKUP_PASSPHRASE", 12)])
def test_a_secret_that_can_be_guessed_is_refused(tmp_path: Path, name: str, shortest: int) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} must have at least {shortest} characters\.$"):
        load({"WORKSPACE": str(tmp_path), name: "x" * (shortest - 1)})
    load({"WORKSPACE": str(tmp_path), name: "x" * shortest})


def test_owners_are_accounts_with_their_platform(tmp_path: Path) -> None:
    environ = {"WORKSPACE": str(tmp_path), "BOT_OWNERS": "Telegram:12, discord:34,"}
    assert load(environ).settings.owners == (UserKey("telegram", "12"), UserKey("discord", "34"))
    with pytest.raises(ConfigError, match=r"^BOT_OWNERS must .*entry 2") as refused:
        assert load(environ | {"BOT_OWNERS": f"telegram:1,{SECRET}"}).settings.owners
    assert SECRET not in str(refused.value)
    with pytest.raises(ConfigError, match=r"^BOT_OWNERS must .*entry 1"):
        load(environ | {"BOT_OWNERS": "telegram:ann"})


def test_keys_of_search_services_are_no_providers(tmp_path: Path) -> None:
    environment = load(
        {"WORKSPACE": str(tmp_path), "BRAVE_API_KEY": SECRET, "SEARXNG_URL": "https://me:word-123@searx"}
    )
    assert environment.keys == {}
    assert {SECRET, "word-123"} <= set(environment.secrets())


def test_pools_are_lists_of_provider_and_model(tmp_path: Path) -> None:
    environ = {"WORKSPACE": str(tmp_path), "TIER_DEEP_POOL": "a/x, b/y"}
    assert load(environ).settings.pools == {"deep": ("a/x", "b/y")}
    with pytest.raises(ConfigError, match=r"^TIER_DEEP_POOL must .*entry 2") as refused:
        assert load(environ | {"TIER_DEEP_POOL": f"a/x,{SECRET}"}).settings.pools
    assert SECRET not in str(refused.value)


def test_a_pool_for_an_unknown_tier_is_refused(tmp_path: Path) -> None:
    words = r"^TIER_SMRT_POOL is for an unknown tier; the tiers are balanced, smart, coding, deep\.$"
    with pytest.raises(ConfigError, match=words):
        load({"WORKSPACE": str(tmp_path), "TIER_SMRT_POOL": "a/x"})
    with pytest.raises(ConfigError, match=words):
        load(workspace(tmp_path, "tier_smrt_pool=a/x\n"))
    assert load({"WORKSPACE": str(tmp_path / "b"), "TIER_SMRT_POOL": " ", "TIER_POOL": "x", "MY_TIER_X_POOL": "x"})


def test_every_secret_setting_is_redacted(tmp_path: Path) -> None:
    environ = {
        "WORKSPACE": str(tmp_path),
        "TELEGRAM_BOT_TOKEN": "secret-1",
        "TELEGRAM_WEBHOOK_SECRET": "secret-2",
        "GROQ_API_KEY": "secret-3",
        "TIERBOT_MCP_TOKEN": "secret-7",
        "ADMIN_TOKEN": "secret-8-secret-8",
        "HTTPS_PROXY": "http://u:secret-4@proxy:1",
        "TELEGRAM_PROXY": "http://u:secret-5@proxy:1",
        "DATABASE_URL": "postgresql+asyncpg://u:secret-6@host/name?password=secret-9",
    }
    environment = load(environ)
    assert {*(f"secret-{number}" for number in (*range(1, 8), 9)), "secret-8-secret-8"} <= set(environment.secrets())
    assert "secret-1" not in repr(environment.settings)


HIDDEN = {
    *("https_proxy", "discord_bot_token", "discord_api_root", "discord_gateway_url", "discord_proxy"),
    *("telegram_bot_token", "telegram_api_root", "telegram_proxy", "telegram_webhook_url", "telegram_webhook_listen"),
    *("telegram_webhook_secret", "brave_api_key", "tavily_api_key", "tierbot_mcp_token", "secrets_key", "admin_token"),
    "backup_passphrase",
    *("ollama_host", "database_url", "searxng_url", "brave_api_root", "tavily_api_root", "duckduckgo_url"),
    *("pip_index_url", "weather_api_root", "geocoding_api_root", "web_private_hosts", "account_hosts"),
    *("otel_exporter_otlp_endpoint", "otel_exporter_otlp_headers"),
    *("workspace", "shared_folder", "heartbeat_file", "bot_owners", "admin_address", "admin_url"),
    *("discord_sharded", "telegram_flood_limit", "embeddings_wait_seconds", "log_format"),
    *("tier_balanced_pool", "tier_smart_pool", "tier_coding_pool", "tier_deep_pool"),
}
"""Settings that no model may tell: secrets, addresses, paths and people. The last two lines are of no use to it, or are
told in another way."""


def test_each_setting_is_either_visible_to_models_or_hidden_from_them(tmp_path: Path) -> None:
    assert set(Settings.model_fields) == VISIBLE | HIDDEN, "decide in VISIBLE or HIDDEN"
    assert not VISIBLE & HIDDEN
    unset = {"WORKSPACE": str(tmp_path), "SCHEDULES_PER_PERSON": "0", "BOT_OWNERS": "telegram:123"}
    shown = load(unset).settings.visible
    assert set(shown) == {name.upper() for name in VISIBLE}
    assert (shown["SCHEDULES_PER_PERSON"], shown["RETENTION_DAYS"], shown["LOG_LEVEL"]) == ("0", "", "INFO")
    assert "123" not in "".join(shown.values())


def test_typos_in_dotenv_are_found(tmp_path: Path) -> None:
    names = (
        "TELEGRAM_TOKEN",
        "LOG_LEVEL",
        "GROQ_API_KEY",
        "GROQ_API_KEY_FILE",
        "GROQ_API_BASE",
        "TELEGRAM_BOT_TOKEN_FILE",
    )
    text = "".join(f"{name}=x\n" for name in names)
    assert unknown_variables(written(tmp_path / ".env", text)) == ("TELEGRAM_TOKEN",)


def test_every_setting_has_a_description() -> None:
    silent = [name for name, field in Settings.model_fields.items() if not (field.description or "").endswith(".")]
    assert silent == []


def test_every_setting_is_documented() -> None:
    missing = {name.upper() for name in Settings.model_fields} - set(first_cells("docs/configuration.md", "[A-Z0-9_]+"))
    assert missing == set(), "without a row in docs/configuration.md"


def test_the_example_file_lists_every_setting_commented_out(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[3] / ".env.example"
    text = example.read_text(encoding="utf-8")
    documented = {line.lstrip("# ").partition("=")[0] for line in text.splitlines() if "=" in line}
    missing = {name.upper() for name in Settings.model_fields} - {"WORKSPACE"} - documented
    assert missing == set(), "not in .env.example"
    assert load(workspace(tmp_path, text)).settings == load({"WORKSPACE": str(tmp_path / "ws")}).settings
    uncommented = "\n".join(
        line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and "=" in line
    )
    assert unknown_variables(written(tmp_path / "all" / ".env", uncommented)) == ()
    assert load({"WORKSPACE": str(tmp_path / "all")}).settings.owners


def test_the_default_workspace_is_here_or_in_the_folder_for_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_workspace({}, checkout=True) == Path("workspace")
    assert default_workspace({}, checkout=False) == Path("~/.local/share/tierbot")
    assert default_workspace({"XDG_DATA_HOME": "/data"}, checkout=False) == Path("/data/tierbot")
    assert default_workspace({"XDG_DATA_HOME": "not/absolute"}, checkout=False) == Path("~/.local/share/tierbot")
    (tmp_path / "workspace").mkdir()
    assert default_workspace({"XDG_DATA_HOME": "/data"}, checkout=False) == Path("workspace")
    assert load({}).settings.workspace == tmp_path / "workspace"
