"""`tierbot setup --non-interactive`: exit 0 writes both files; a check that fails writes nothing."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from bot.config.environment import load
from bot.ops.setup.draft import Draft
from bot.ops.setup.flags import Flags
from bot.ops.setup.unattended import answered
from routing.errors import ConfigError
from routing.types.llm import NO_KEY
from tests.bot.cli import tierbot
from tests.bot.ops.setup.answers import BAD, GOOD, env_text, write_env
from tests.servers.discord import DiscordServer
from tests.servers.model import ModelServer, OllamaModel
from tests.servers.telegram import TelegramServer

NO_OLLAMA = "OLLAMA_HOST is not saved: no Ollama with a model that can chat answers at http://127.0.0.1:9."


async def test_flags_write_both_files(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    flags = ("--telegram-token", tg.token, "--provider", f"openai={GOOD}", "--owner", "telegram:1")
    code, output, errors = await tierbot(
        folder, "setup", "--non-interactive", *flags, "--base", f"openai={ms.openai_base}", **environ
    )
    assert (code, errors) == (0, "")
    assert output == (
        "Telegram: the token belongs to @tierbot.\nOpenAI: openai/gpt-5.1 answers.\n"
        f"{NO_OLLAMA}\n"
        f"✓ Saved in {folder / '.env'}, {folder / 'preferences' / 'runtime-config.json'}.\n"
    )
    saved = load({"WORKSPACE": str(folder)})
    assert (saved.settings.bot_owners, saved.keys) == ("telegram:1", {"openai": GOOD})
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    assert [call.model for call in ms.calls] == ["gpt-5.1"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--telegram-token", "123456:WRONG"), "Telegram refuses TELEGRAM_BOT_TOKEN; copy it whole from @BotFather"),
        (("--telegram-token", "{token}", "--provider", f"openai={BAD}"), "OpenAI refuses the key. Copy it whole"),
        (("--provider", "openai"), "No key for openai: write --provider openai=KEY, or set OPENAI_API_KEY."),
        (("--provider", "a b=c"), "--provider must look like openai=KEY."),
        (("--telegram-token", "{token}", "--owner", "me"), "BOT_OWNERS must look like telegram:123,discord:456"),
        (("--owner", "telegram:ann"), "BOT_OWNERS must look like telegram:123,discord:456; entry 1"),
        (
            ("--owner", "matrix:1"),
            "BOT_OWNERS: the platform of matrix:1 is unknown. Use one of these: telegram, discord.",
        ),
        (
            ("--base", "openai=ftp://x"),
            "The address of openai must be an http:// or https:// address",
        ),
        (("--base", "../x=http://x"), "--base must look like openai=https://…."),
        (("--model", "foo"), "--model must look like openai/gpt-5.1."),
        (("--model", "groq/x"), "No key for groq: write --provider groq=KEY, or set GROQ_API_KEY."),
        ((), f"{NO_OLLAMA} There is nothing to save: give a token, --provider or --owner."),
    ],
    ids=lambda value: value[0] if value and isinstance(value, tuple) else "",
)
async def test_what_is_wrong_is_said_in_one_sentence_and_nothing_is_written(
    environ: dict[str, str],
    folder: Path,
    tg: TelegramServer,
    ms: ModelServer,
    flags: tuple[str, ...],
    sentence: str,
) -> None:
    ms.bad_keys.add(BAD)
    base = () if "--base" in flags else ("--base", f"openai={ms.openai_base}")
    given = (each.format(token=tg.token) for each in flags)
    base = base if flags else ()
    code, output, errors = await tierbot(folder, "setup", "--non-interactive", *given, *base, **environ)
    assert (code, output) == (2, "")
    assert errors.startswith(f"tierbot: {sentence}")
    assert errors.count("\n") == 1
    assert BAD not in errors
    assert os.listdir(folder.parent) == []


async def test_owners_are_added_to_those_that_are_set(environ: dict[str, str], folder: Path) -> None:
    write_env(folder, "BOT_OWNERS=telegram:1,discord:2\n")
    draft, _ = await given(environ, owners=("telegram:3", "telegram:1"))
    assert draft.environment.settings.bot_owners == "telegram:1,discord:2,telegram:3"


async def test_a_taken_port_of_the_admin_page_is_told(environ: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        _, lines = await given(environ | {"ADMIN_ADDRESS": f"127.0.0.1:{port}"}, owners=("telegram:3",))
    said = f"Another program listens on port {port}, where the admin page would be: change ADMIN_ADDRESS."
    assert lines == [NO_OLLAMA, said]


async def test_without_a_terminal_it_names_the_flags(environ: dict[str, str], folder: Path) -> None:
    code, _, errors = await tierbot(folder, "setup", **environ)
    assert (code, errors) == (
        2,
        "tierbot: setup asks questions, so it needs a terminal; or use --non-interactive and flags.\n",
    )
    code, _, errors = await tierbot(folder, "setup", "--owner", "telegram:1", **environ)
    assert (code, errors) == (2, "tierbot: Add --non-interactive to use the flags; without it, setup asks.\n")


async def test_a_broken_env_file_is_named_and_left_alone(environ: dict[str, str], folder: Path) -> None:
    write_env(folder, "LOG_LEVEL=ERROR\nno assignment\n")
    code, _, errors = await tierbot(folder, "setup", "--non-interactive", "--owner", "telegram:1", **environ)
    assert (code, errors) == (2, f"tierbot: {folder / '.env'} line 2: not of the form NAME=value.\n")
    assert env_text(folder) == "LOG_LEVEL=ERROR\nno assignment\n"


async def given(environ: dict[str, str], **flags: object) -> tuple[Draft, list[str]]:
    nothing: dict[str, object] = {"tokens": {}, "keys": {}, "bases": {}, "owners": (), "model": ""}
    return await answered(Draft.of(load(environ)), Flags(interactive=False, **(nothing | flags)))  # type: ignore[arg-type]  # a table of flags


async def test_secrets_may_come_from_the_environment_and_from_files(
    environ: dict[str, str], folder: Path, tmp_path: Path, tg: TelegramServer, dc: DiscordServer, ms: ModelServer
) -> None:
    (tmp_path / "token").write_text(f"{dc.token}\n", "utf-8")
    secrets = {
        "TELEGRAM_BOT_TOKEN": tg.token,
        "DISCORD_BOT_TOKEN_FILE": str(tmp_path / "token"),
        "OPENAI_API_KEY": GOOD,
    }
    draft, lines = await given(environ | secrets, keys={"openai": ""}, bases={"openai": ms.openai_base})
    assert lines[:3] == [
        "Telegram: the token belongs to @tierbot.",
        "Discord: the token belongs to tierbot.",
        f"Discord: the bot belongs to {dc.owner.name.lower()}, who is an owner now.",
    ]
    draft.save()
    settings = load({"WORKSPACE": str(folder)})
    assert settings.settings.bot_owners == f"discord:{dc.owner.id}"
    assert dc.token not in env_text(folder), "its file is named instead"
    assert settings.keys == {"openai": GOOD}
    assert {tg.token, dc.token} <= set(settings.secrets())


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
async def test_an_address_in_the_environment_is_saved(
    environ: dict[str, str], folder: Path, ms: ModelServer, name: str
) -> None:
    draft, lines = await given(environ | {name: ms.openai_base}, keys={"openai": GOOD})
    assert lines[0] == "OpenAI: openai/gpt-5.1 answers."
    draft.save()
    saved = json.loads((folder / "preferences" / "runtime-config.json").read_text("utf-8"))
    assert saved["llm"]["providers"]["openai"]["baseUrl"] == ms.openai_base


async def test_a_missing_intent_is_a_warning(environ: dict[str, str], dc: DiscordServer) -> None:
    dc.grant()
    _, lines = await given(environ, tokens={"discord": dc.token})
    assert lines[1].startswith("Discord: The bot can't read messages in servers: turn on Message Content Intent")


async def test_an_owner_on_discord_who_is_named_stays_the_only_one(environ: dict[str, str], dc: DiscordServer) -> None:
    draft, _ = await given(environ, tokens={"discord": dc.token}, owners=("discord:5",))
    assert draft.environment.settings.bot_owners == "discord:5"


async def test_pools_and_owners_that_were_used_are_saved(
    environ: dict[str, str], folder: Path, dc: DiscordServer, ms: ModelServer
) -> None:
    environ |= {"BOT_OWNERS": "discord:7", "TIER_DEEP_POOL": "groq/gpt-5.1"}
    flags = {"tokens": {"discord": dc.token}, "keys": {"groq": GOOD}, "bases": {"groq": ms.openai_base}}
    draft, lines = await given(environ, **flags)
    assert "Groq: groq/gpt-5.1 answers." in lines
    draft.save()
    saved = load({"WORKSPACE": str(folder)}).settings
    assert (saved.pools, saved.bot_owners) == ({"deep": ("groq/gpt-5.1",)}, "discord:7")


async def test_owners_of_the_environment_alone_are_saved(environ: dict[str, str], folder: Path) -> None:
    draft, lines = await given(environ | {"BOT_OWNERS": "telegram:1"})
    assert lines == [NO_OLLAMA]
    draft.save()
    assert load({"WORKSPACE": str(folder)}).settings.bot_owners == "telegram:1"


async def test_a_key_of_the_configuration_is_no_key_for_the_flag(
    environ: dict[str, str], folder: Path, ms: ModelServer
) -> None:
    config = folder / "preferences" / "runtime-config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"llm": {"providers": {"openai": {"apiKey": GOOD}}}}), "utf-8")
    with pytest.raises(ConfigError, match=r"^No key for openai: write --provider openai=KEY, or set OPENAI_API_KEY\.$"):
        await given(environ, keys={"openai": ""}, bases={"openai": ms.openai_base})


async def test_no_network_is_said(environ: dict[str, str], tg: TelegramServer) -> None:
    await tg.go_down()
    with pytest.raises(ConfigError, match=r"^Telegram can't be reached \(.*\). Check the internet connection.$"):
        await given(environ, tokens={"telegram": tg.token})


async def test_an_account_without_credit_has_a_key_that_works(environ: dict[str, str], ms: ModelServer) -> None:
    ms.fail(402)
    _, lines = await given(environ, keys={"openai": GOOD}, bases={"openai": ms.openai_base})
    assert lines[0] == "OpenAI accepts the key, but openai/gpt-5.1 does not answer now: its account is out of credit."


async def test_a_provider_without_a_tier_needs_a_model(environ: dict[str, str], ms: ModelServer) -> None:
    with pytest.raises(
        ConfigError, match=r"No tier uses groq by default: name a model with --model\. It offers groq/gpt"
    ):
        await given(environ, keys={"groq": GOOD}, bases={"groq": ms.openai_base})
    draft, _ = await given(environ, keys={"groq": GOOD}, bases={"groq": ms.openai_base}, model="groq/gpt-5.1")
    assert draft.environment.settings.pools["smart"] == ("groq/gpt-5.1",)


async def test_the_rest_of_the_configuration_stays(environ: dict[str, str], folder: Path, ms: ModelServer) -> None:
    config = folder / "preferences" / "runtime-config.json"
    config.parent.mkdir(parents=True)
    before = {"budget": {"perUserDailyUsd": 2}, "llm": {"providers": {"openai": {"requestTimeoutSeconds": 60}}}}
    config.write_text(json.dumps(before), "utf-8")
    draft, _ = await given(environ, keys={"openai": GOOD}, bases={"openai": ms.openai_base})
    draft.save()
    after = json.loads(config.read_text("utf-8"))
    assert after["budget"] == before["budget"]
    assert after["llm"]["providers"]["openai"] == {
        "requestTimeoutSeconds": 60,
        "apiType": "openai",
        "baseUrl": ms.openai_base,
    }
    assert not Draft.of(load(environ)).changed


async def test_a_service_with_another_workspace_is_named(environ: dict[str, str], tmp_path: Path) -> None:
    """Its settings were copied when it was installed, so it does not notice these."""
    unit = tmp_path / "home" / ".config" / "systemd" / "user" / "tierbot.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nEnvironment=WORKSPACE=/srv/bot\n", "utf-8")
    variables = environ | {"HOME": str(tmp_path / "home")}
    flags = ("setup", "--non-interactive", "--owner", "telegram:1")
    del variables["WORKSPACE"]
    _, output, _ = await tierbot(tmp_path / "mine", *flags, **variables)
    assert f"The service has its settings in /srv/bot; this changes those in {tmp_path / 'mine'}." in output
    assert "env WORKSPACE=/srv/bot " in output


async def test_the_address_of_a_provider_with_a_saved_key_is_checked(environ: dict[str, str], folder: Path) -> None:
    write_env(folder, f"OPENAI_API_KEY={GOOD}\n")
    with pytest.raises(ConfigError, match=r"^openai/gpt-5.1 does not answer: Connection error\.$"):
        await given(environ, bases={"openai": "http://127.0.0.1:9/v1"})
    assert not (folder / "preferences").exists()


async def test_the_address_of_a_provider_that_no_tier_uses_is_checked(environ: dict[str, str], ms: ModelServer) -> None:
    ms.models["openai"] = ["gpt-5.1", "gpt-5.2"]
    _, lines = await given(environ | {"GROQ_API_KEY": GOOD}, bases={"groq": ms.openai_base})
    assert lines[0] == "Groq lists 2 models. None was tested, because no tier uses one."
    with pytest.raises(ConfigError, match=r"^groq can't be reached \(ConnectError\)\.$"):
        await given(environ, bases={"groq": "http://127.0.0.1:9/v1"})


async def test_an_address_that_wants_a_key_is_said_to_be_unchecked(environ: dict[str, str], ms: ModelServer) -> None:
    ms.bad_keys.add(NO_KEY)
    _, lines = await given(environ, bases={"openai": ms.openai_base})
    words = f"OpenAI: {ms.openai_base} answers, but can't be checked further without a key."
    assert lines[0] == words


async def test_a_second_provider_needs_no_model_of_its_own(environ: dict[str, str], ms: ModelServer) -> None:
    flags = {"keys": {"openai": GOOD, "groq": GOOD}, "bases": dict.fromkeys(("openai", "groq"), ms.openai_base)}
    draft, lines = await given(environ, **flags, model="openai/gpt-5.1")
    assert lines[0] == "OpenAI: openai/gpt-5.1 answers."
    assert lines[1].startswith("Groq lists ")
    assert set(draft.environment.keys) == {"openai", "groq"}


async def test_an_ollama_that_answers_is_enough(environ: dict[str, str], ms: ModelServer) -> None:
    ms.ollama = {"qwen2.5:3b": OllamaModel()}
    environ["OLLAMA_HOST"] = ms.vendor("ollama")
    draft, lines = await given(environ)
    assert lines == [f"Ollama answers at {ms.vendor('ollama')} and has qwen2.5:3b."]
    assert draft.variables == {"OLLAMA_HOST": ms.vendor("ollama")}


async def test_secrets_that_saved_files_hold_stay_there(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    for name, secret in (("token", tg.token), ("key", GOOD)):
        (folder.parent / name).write_text(secret, encoding="utf-8")
    before = f"TELEGRAM_BOT_TOKEN_FILE={folder.parent}/token\nOPENAI_API_KEY_FILE={folder.parent}/key\n"
    write_env(folder, before)
    draft, lines = await given(environ, keys={"openai": ""}, bases={"openai": ms.openai_base})
    assert lines[:2] == ["Telegram: the token belongs to @tierbot.", "OpenAI: openai/gpt-5.1 answers."]
    draft.save()
    assert env_text(folder) == f"{before}TELEGRAM_API_ROOT={tg.root}\n"
