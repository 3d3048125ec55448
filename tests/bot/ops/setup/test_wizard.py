"""The dialogue of setup: what is wrong is said in one sentence and asked again, and nothing is saved before the end."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.ops.service.unit import program_of, this_program, workspace_of
from bot.ops.setup import service
from routing.errors import ConfigError
from tests.bot.ops.setup.answers import DEFAULT, GOOD, NO_DISCORD, dialogue, env_text, write_env
from tests.servers.discord import DiscordServer
from tests.servers.model import ModelServer
from tests.servers.telegram import TelegramServer


async def test_four_answers_set_up_the_bot(
    environ: dict[str, str], folder: Path, tg: TelegramServer, dc: DiscordServer, ms: ModelServer
) -> None:
    answers = (
        ("Telegram token", tg.token),
        ("Discord token", dc.token),
        ("Which model", DEFAULT),
        ("OpenAI key", GOOD),
    )
    talk = await dialogue(environ, *answers, bases={"openai": ms.openai_base})
    assert talk.text.count("✓") == 6
    assert "✗" not in talk.text
    assert sorted(talk.concealed) == sorted([tg.token, dc.token, GOOD])
    for secret in talk.concealed:
        assert secret not in talk.text
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    saved = load({"WORKSPACE": str(folder)})
    assert saved.settings.telegram_api_root == tg.root
    assert saved.settings.discord_gateway_url == dc.gateway
    assert saved.settings.bot_owners == f"discord:{dc.owner.id}", "the application tells whose it is"
    assert saved.keys == {"openai": GOOD}
    config = folder / "preferences" / "runtime-config.json"
    provider = json.loads(config.read_text(encoding="utf-8"))["llm"]["providers"]["openai"]
    assert provider == {"apiType": "openai", "baseUrl": ms.openai_base}
    assert config.stat().st_mode & 0o777 == 0o600
    assert talk.outcome is not None
    assert talk.outcome.start
    assert talk.outcome.accounts["telegram"].link == "https://t.me/tierbot?start={code}"
    link = talk.outcome.accounts["discord"].link
    assert link.startswith(f"https://discord.com/oauth2/authorize?client_id={dc.application_id}&scope=bot+applications")


async def test_a_wrong_token_is_asked_again(environ: dict[str, str], tg: TelegramServer) -> None:
    answers = (("Telegram token", "123"), ("Telegram token", "123456:WRONG"), ("Telegram token", tg.token))
    talk = await dialogue(environ, *answers, NO_DISCORD, ("Which model", "nothing"))
    faults = [line for line in talk.shown if line.startswith("✗")]
    assert len(faults) == 2
    assert "does not look like a token; copy it whole from @BotFather" in faults[0]
    assert "Telegram refuses TELEGRAM_BOT_TOKEN; copy it whole" in faults[1]


async def test_a_wrong_discord_token_is_asked_again(environ: dict[str, str], dc: DiscordServer) -> None:
    wrong = "A" * 24 + ".wrong." + "b" * 30
    answers = (
        ("Telegram token", ""),
        ("Discord token", wrong),
        ("Discord token", dc.token),
        ("Which model", "nothing"),
    )
    talk = await dialogue(environ, *answers)
    assert "✗ Discord refuses DISCORD_BOT_TOKEN; copy the token again" in talk.text


async def test_a_missing_intent_is_checked_until_it_is_on(environ: dict[str, str], dc: DiscordServer) -> None:
    dc.grant()

    def turned_on() -> str:
        dc.grant("message_content")
        return "yes"

    answers = (
        ("Telegram token", ""),
        ("Discord token", dc.token),
        ("Check again?", "yes"),
        ("Check again?", turned_on),
    )
    talk = await dialogue(environ, *answers, ("Which model", "nothing"))
    faults = [line for line in talk.shown if line.startswith("✗")]
    assert len(faults) == 2
    assert faults[0].startswith("✗ The bot can't read messages in servers: turn on Message Content Intent")
    assert "✓ Discord: everything is on now." in talk.shown


async def test_a_bot_may_do_without_the_intent(environ: dict[str, str], folder: Path, dc: DiscordServer) -> None:
    dc.grant()
    answers = (("Telegram token", ""), ("Discord token", dc.token), ("Check again?", "no"), ("Which model", "nothing"))
    await dialogue(environ, *answers)
    assert dc.token in env_text(folder)


async def test_no_network_is_said_and_tried_again(environ: dict[str, str], tg: TelegramServer) -> None:
    await tg.go_down()
    answers = (("Telegram token", tg.token), ("Try again?", "yes"), ("Try again?", "no"), ("Telegram token", ""))
    talk = await dialogue(environ, *answers, NO_DISCORD, ("Which model", "nothing"))
    faults = [line for line in talk.shown if line.startswith("✗")]
    assert len(faults) == 2
    assert faults[0].startswith("✗ Telegram can't be reached (")
    assert faults[0].endswith("Check the internet connection.")
    assert "tierbot chat" in talk.shown[-1], "without a token it says what works"
    assert talk.outcome is not None
    assert not talk.outcome.start


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which another program listens."""
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


async def test_a_port_that_is_taken_is_asked_for_again(
    environ: dict[str, str], folder: Path, tg: TelegramServer, taken: int
) -> None:
    environ["ADMIN_ADDRESS"] = f"127.0.0.1:{taken}"
    answers = (("Telegram token", tg.token), NO_DISCORD, ("Which model", "nothing"))
    ports = (("Another port", str(taken)), ("Another port", "70000"), ("Another port", ""))
    talk = await dialogue(environ, *answers, *ports)
    assert talk.text.count(f"✗ Another program listens on port {taken}") == 3
    assert "✗ ADMIN_ADDRESS must look like 127.0.0.1:8787, or be off." in talk.shown
    assert "ADMIN_ADDRESS=off" in env_text(folder)
    assert "ADMIN_ADDRESS: the environment of this shell has other values" in talk.text


async def test_later_it_shows_what_is_set_and_changes_one_thing(
    environ: dict[str, str], folder: Path, tg: TelegramServer
) -> None:
    before = f"# mine\nTELEGRAM_BOT_TOKEN=1:old-token-of-a-bot\n\nOPENAI_API_KEY={GOOD} # paid by me\nLOG_LEVEL=ERROR\n"
    write_env(folder, before)
    answers = (("What next?", "telegram"), ("Telegram", "new"), ("Telegram token", tg.token), ("What next?", "done"))
    talk = await dialogue(environ | {"GROQ_API_KEY": GOOD}, *answers)
    assert "  Telegram: ••••-bot" in talk.shown
    assert "  Keys: groq ••••0000 (from this shell), openai ••••0000" in talk.shown
    assert GOOD not in talk.text
    root = f"TELEGRAM_API_ROOT={tg.root}\n"
    assert env_text(folder) == before.replace("1:old-token-of-a-bot", tg.token) + root


async def test_a_token_of_the_environment_is_checked_and_not_asked_for(
    environ: dict[str, str], folder: Path, tg: TelegramServer
) -> None:
    environ["TELEGRAM_BOT_TOKEN"] = tg.token
    talk = await dialogue(environ, NO_DISCORD, ("Which model", "nothing"))
    assert "✓ Telegram: the token belongs to @tierbot." in talk.shown
    assert f"TELEGRAM_BOT_TOKEN={tg.token}" in env_text(folder), "a service has another environment"
    assert talk.outcome is not None
    assert list(talk.outcome.accounts) == ["telegram"]


async def test_a_discord_token_of_the_environment_is_treated_like_a_typed_one(
    environ: dict[str, str], folder: Path, dc: DiscordServer
) -> None:
    environ["DISCORD_BOT_TOKEN"] = dc.token
    dc.grant()

    def turned_on() -> str:
        dc.grant("message_content")
        return "yes"

    talk = await dialogue(environ, ("Telegram token", ""), ("Check again?", turned_on), ("Which model", "nothing"))
    assert "✓ Discord: everything is on now." in talk.shown
    assert f"BOT_OWNERS=discord:{dc.owner.id}" in env_text(folder)


async def test_a_refused_token_of_the_environment_can_be_left_out(environ: dict[str, str], folder: Path) -> None:
    environ["TELEGRAM_BOT_TOKEN"] = "123456:WRONG"
    talk = await dialogue(environ, ("Telegram token (Enter leaves", ""), NO_DISCORD, ("Which model", "nothing"))
    assert "✗ Telegram refuses TELEGRAM_BOT_TOKEN; copy it whole" in talk.text
    assert talk.outcome is not None
    assert not talk.outcome.start
    assert env_text(folder) == ""


async def test_a_typed_token_that_a_refused_one_of_the_environment_hides_is_told(
    environ: dict[str, str], tg: TelegramServer
) -> None:
    environ["TELEGRAM_BOT_TOKEN"] = "1:refused"
    answers = (("Telegram token", tg.token), NO_DISCORD, ("Which model", "nothing"))
    talk = await dialogue(environ, *answers)
    assert "TELEGRAM_BOT_TOKEN: the environment of this shell has other values" in talk.text


async def test_a_saved_token_that_the_environment_has_too_leads_to_what_is_set(
    environ: dict[str, str], folder: Path, tg: TelegramServer
) -> None:
    write_env(folder, f"TELEGRAM_BOT_TOKEN={tg.token}\n")
    environ["TELEGRAM_BOT_TOKEN"] = tg.token
    talk = await dialogue(environ, ("What next?", "done"))
    assert "(from this shell)" in talk.text


async def test_a_token_in_a_file_stays_there_until_the_platform_is_turned_off(
    environ: dict[str, str], folder: Path, tg: TelegramServer
) -> None:
    file = folder.parent / "token"
    file.write_text(f"{tg.token}\n", encoding="utf-8")
    await dialogue(environ | {"TELEGRAM_BOT_TOKEN_FILE": str(file)}, NO_DISCORD, ("Which model", "nothing"))
    assert env_text(folder) == f"TELEGRAM_API_ROOT={tg.root}\nTELEGRAM_BOT_TOKEN_FILE={file}\n"
    await dialogue(environ, ("What next?", "telegram"), ("Telegram", "off"), ("What next?", "done"))
    assert env_text(folder) == f"TELEGRAM_API_ROOT={tg.root}\n"


async def test_the_proxy_of_the_environment_is_saved_with_what_was_checked(
    environ: dict[str, str], folder: Path, tg: TelegramServer
) -> None:
    environ["HTTPS_PROXY"] = "http://127.0.0.1:9"
    await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD, ("Which model", "nothing"))
    assert "HTTPS_PROXY=http://127.0.0.1:9\n" in env_text(folder)


async def test_the_bot_can_be_started_again(environ: dict[str, str], folder: Path, tg: TelegramServer) -> None:
    write_env(folder, f"TELEGRAM_BOT_TOKEN={tg.token}\n")
    talk = await dialogue(environ, ("What next?", "start"))
    assert talk.outcome is not None
    assert (talk.outcome.start, list(talk.outcome.accounts)) == (True, ["telegram"])


async def test_a_platform_is_turned_off_and_owners_are_changed(
    environ: dict[str, str], folder: Path, tg: TelegramServer
) -> None:
    write_env(folder, f"TELEGRAM_BOT_TOKEN={tg.token}\nBOT_OWNERS=telegram:1\n")
    owners = (("What next?", "owners"), ("Owners", "me"), ("Owners", "matrix:1"), ("Owners", "telegram:7"))
    off = (("What next?", "telegram"), ("Telegram", "off"), ("What next?", "done"))
    talk = await dialogue(environ, *owners, *off)
    assert "✗ BOT_OWNERS must look like telegram:123,discord:456; entry 1 does not." in talk.shown
    assert "✗ BOT_OWNERS: the platform of matrix:1 is unknown. Use one of these: telegram, discord." in talk.shown
    assert env_text(folder) == "BOT_OWNERS=telegram:7\n"


async def test_a_service_is_offered_where_one_can_be_installed(environ: dict[str, str], tg: TelegramServer) -> None:
    answers = (("Telegram token", tg.token), NO_DISCORD, ("Which model", "nothing"), ("Install it as a service", "yes"))
    talk = await dialogue(environ, *answers, service=True)
    assert talk.outcome is not None
    assert talk.outcome.service


def test_no_service_is_offered_without_systemd(tmp_path: Path) -> None:
    assert not service.available(tmp_path / "absent")


def test_the_service_gets_this_program_and_this_workspace(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("systemctl", "loginctl"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    environment = load(environ)
    assert service.install(environment) == 0
    unit = (tmp_path / ".config/systemd/user/tierbot.service").read_text(encoding="utf-8")
    assert workspace_of(unit) == environment.settings.workspace
    assert program_of(unit) == str(this_program().python)


async def test_a_broken_configuration_is_named_and_left_alone(environ: dict[str, str], folder: Path) -> None:
    (folder / "preferences").mkdir(parents=True)
    config = folder / "preferences" / "runtime-config.json"
    config.write_text('{"llm": {"providers": {"openai": 7}}}', "utf-8")
    with pytest.raises(ConfigError, match=r"runtime-config.json line 1: llm.providers.openai must be an object"):
        await dialogue(environ)
    assert config.read_text("utf-8") == '{"llm": {"providers": {"openai": 7}}}'


async def test_it_speaks_german(environ: dict[str, str], tg: TelegramServer) -> None:
    answers = (
        ("Telegram-Token", "123"),
        ("Telegram-Token", tg.token),
        ("Discord-Token", ""),
        ("Welches Modell", "nothing"),
    )
    talk = await dialogue(environ, *answers, language="de")
    assert "✗ TELEGRAM_BOT_TOKEN sieht nicht wie ein Token aus" in talk.text
    assert "✓ Telegram: Das Token gehört zu @tierbot." in talk.shown
