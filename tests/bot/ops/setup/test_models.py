"""The questions of setup about models: a provider's key, Ollama, and a model on this machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from aiohttp import web

from bot.config.environment import load
from bot.ops.download import Weights
from tests.bot.ops.setup.answers import BAD, DEFAULT, GOOD, NO_DISCORD, dialogue, env_text, write_env
from tests.servers.listener import listening
from tests.servers.model import ModelServer, OllamaModel
from tests.servers.telegram import TelegramServer


async def test_a_wrong_key_is_asked_again(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    ms.bad_keys.add(BAD)
    answers = (
        ("Telegram token", tg.token),
        NO_DISCORD,
        ("Which model", "openai"),
        ("OpenAI key", BAD),
        ("OpenAI key", GOOD),
    )
    talk = await dialogue(environ, *answers, bases={"openai": ms.openai_base})
    assert "✗ OpenAI refuses the key. Copy it whole, or make a new one." in talk.shown
    assert BAD not in env_text(folder)
    assert GOOD in env_text(folder)


async def test_a_provider_that_is_away_is_asked_again_or_kept(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    await ms.go_down()
    answers = (("Telegram token", tg.token), NO_DISCORD, ("Which model", "openai"), ("OpenAI key", GOOD))
    again = (("What next?", "again"), ("What next?", "new"), ("OpenAI key", GOOD), ("What next?", "keep"))
    talk = await dialogue(environ | {"OPENAI_BASE_URL": ms.openai_base}, *answers, *again)
    assert talk.text.count("✗ openai/gpt-5.1 does not answer: Connection error.") == 3
    assert GOOD in env_text(folder)


async def test_a_provider_without_a_tier_is_asked_for_one_of_its_models(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    answers = (
        ("Telegram token", tg.token),
        NO_DISCORD,
        ("Which model", "groq"),
        ("Groq key", GOOD),
        ("Which of its", "groq/gpt-5.1"),
    )
    await dialogue(environ, *answers, bases={"groq": ms.openai_base})
    assert load({"WORKSPACE": str(folder)}).settings.pools["deep"] == ("groq/gpt-5.1",)
    assert [call.model for call in ms.calls] == ["gpt-5.1"]


async def test_ollama_is_found_and_needs_no_key(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    ms.ollama = {"qwen2.5:3b": OllamaModel()}
    environ["OLLAMA_HOST"] = ms.vendor("ollama")
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD, ("Which model", DEFAULT))
    assert "API_KEY" not in env_text(folder)
    assert "POOL" not in env_text(folder), "it answers by itself"
    assert "Asking ollama/qwen2.5:3b for one word …" in talk.shown
    assert talk.choices["Which model should answer?"]["nothing"] == "Decide later: ollama/qwen2.5:3b answers until then"
    assert f"OLLAMA_HOST={ms.vendor('ollama')}\n" in env_text(folder)
    assert [call.model for call in ms.calls] == ["qwen2.5:3b"]


async def test_a_model_for_this_machine_is_downloaded(
    environ: dict[str, str], folder: Path, tg: TelegramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"GGUF weights"

    async def hub(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=data)

    digest = hashlib.sha256(data).hexdigest()
    weights = Weights("tiny", "Some/Tiny-GGUF", "abc", "tiny.gguf", len(data), digest, "MIT")
    monkeypatch.setattr("bot.ops.setup.models.WEIGHTS", (weights,))
    answers = (("Telegram token", tg.token), NO_DISCORD, ("Which model", "download"))
    environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
    talk = await dialogue(environ, *answers, ("Which model", "nothing"))
    assert "✗ The download stopped (ConnectError)." in talk.text
    async with listening(hub) as environ["HF_ENDPOINT"]:
        answers = (("What next?", "models"), ("Which model", "download"), ("What next?", "keep"))
        talk = await dialogue(environ, *answers, ("What next?", "done"))
    assert "✗ local/tiny does not answer" in talk.text, "these are no weights"
    assert load({"WORKSPACE": str(folder)}).settings.pools["smart"] == ("local/tiny",)
    assert (folder / "models" / "tiny.gguf").read_bytes() == data


async def test_a_key_replaces_the_models_of_this_machine(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    pools = "".join(f"TIER_{tier}_POOL=local/small\n" for tier in ("BALANCED", "SMART", "CODING"))
    write_env(folder, f"TELEGRAM_BOT_TOKEN={tg.token}\n{pools}TIER_DEEP_POOL=local/a,openai/gpt-5.1\n")
    answers = (("What next?", "models"), ("Which model", "openai"), ("OpenAI key", GOOD), ("What next?", "done"))
    await dialogue(environ, *answers, bases={"openai": ms.openai_base})
    assert load({"WORKSPACE": str(folder)}).settings.pools == {"deep": ("local/a", "openai/gpt-5.1")}


async def test_a_key_of_the_environment_is_tried_and_saved(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    environ |= {"OPENAI_API_KEY": GOOD, "OPENAI_BASE_URL": ms.openai_base}
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD)
    assert "✓ OpenAI: openai/gpt-5.1 answers." in talk.shown
    assert f"OPENAI_API_KEY={GOOD}" in env_text(folder)
    assert ms.openai_base in (folder / "preferences" / "runtime-config.json").read_text("utf-8")


async def test_a_refused_key_of_the_environment_brings_the_question_of_the_model(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    environ |= {"OPENAI_API_KEY": BAD, "OPENAI_BASE_URL": ms.openai_base}
    ms.bad_keys.add(BAD)
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD, ("Which model", "nothing"))
    assert "✗ OpenAI refuses the key. Copy it whole, or make a new one." in talk.shown
    assert BAD not in env_text(folder)
    assert f"TELEGRAM_BOT_TOKEN={tg.token}" in env_text(folder), "what was typed before is kept"


async def test_a_key_of_the_environment_leaves_the_pools_alone(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    write_env(folder, "TIER_DEEP_POOL=local/a\n")
    environ |= {
        "OPENAI_API_KEY": f"{GOOD} ",
        "OPENAI_BASE_URL": f"{ms.openai_base} ",
        "TELEGRAM_BOT_TOKEN": f"{tg.token}\r",
    }
    await dialogue(environ, NO_DISCORD)
    saved = load({"WORKSPACE": str(folder)})
    assert saved.settings.pools == {"deep": ("local/a",)}
    assert saved.keys == {"openai": GOOD}


async def test_an_ollama_that_fails_is_said(environ: dict[str, str], tg: TelegramServer, ms: ModelServer) -> None:
    ms.ollama = {"qwen2.5:3b": OllamaModel()}
    environ["OLLAMA_HOST"] = ms.vendor("ollama")
    ms.fail(500, message="model requires more system memory")
    answers = (("Telegram token", tg.token), NO_DISCORD, ("Which model", DEFAULT), ("What next?", "new"))
    talk = await dialogue(environ, *answers, ("Which model", "nothing"))
    assert "✗ ollama/qwen2.5:3b does not answer: model requires more system memory." in talk.shown


async def test_without_the_weights_of_the_demo_model_nothing_is_promised(
    environ: dict[str, str], tg: TelegramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.ops.setup.models.shipped_weights", lambda: None)
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD, ("Which model", "nothing"))
    assert talk.choices["Which model should answer?"]["nothing"] == "Decide later: nothing answers until then"


async def test_each_key_of_the_environment_is_tried(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    environ |= {"OPENAI_API_KEY": GOOD, "GROQ_API_KEY": GOOD, "MISTRAL_API_KEY": BAD, "GITHUB_API_KEY": GOOD}
    environ |= {f"{name}_BASE_URL": ms.openai_base for name in ("OPENAI", "GROQ", "MISTRAL")}
    ms.bad_keys.add(BAD)
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD)
    assert "✓ OpenAI: openai/gpt-5.1 answers." in talk.shown
    assert "✓ Groq lists " in talk.text
    assert "✗ Mistral refuses the key. Copy it whole, or make a new one." in talk.shown
    assert "MISTRAL_API_KEY is not saved." in talk.shown
    assert load({"WORKSPACE": str(folder)}).keys == {"openai": GOOD, "groq": GOOD}
    assert len(ms.calls) == 1


async def test_pools_and_owners_of_the_environment_are_saved(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    environ |= {"GROQ_API_KEY": GOOD, "GROQ_BASE_URL": ms.openai_base}
    environ |= {"TIER_BALANCED_POOL": "groq/gpt-5.1", "BOT_OWNERS": "telegram:1"}
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD)
    assert "✓ Groq: groq/gpt-5.1 answers." in talk.shown
    saved = load({"WORKSPACE": str(folder)}).settings
    assert (saved.pools, saved.bot_owners) == ({"balanced": ("groq/gpt-5.1",)}, "telegram:1")


async def test_a_key_of_the_environment_is_not_typed_again(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    environ |= {"GROQ_API_KEY": GOOD, "GROQ_BASE_URL": ms.openai_base}
    models = (("Which model", "groq"), ("Which of its", "groq/gpt-5.1"))
    await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD, *models)
    saved = load({"WORKSPACE": str(folder)})
    assert (saved.keys, saved.settings.pools["smart"]) == ({"groq": GOOD}, ("groq/gpt-5.1",))


async def test_a_key_in_a_file_stays_there(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder.parent / "key").write_text(f"{GOOD}\n", encoding="utf-8")
    environ |= {"OPENAI_API_KEY_FILE": "key", "OPENAI_BASE_URL": ms.openai_base}
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD)
    assert "✓ OpenAI: openai/gpt-5.1 answers." in talk.shown
    assert GOOD not in env_text(folder)
    assert "has other values" not in talk.text
    assert f"OPENAI_API_KEY_FILE={folder.parent / 'key'}\n" in env_text(folder), "a service has another folder"
    assert load({"WORKSPACE": str(folder)}).keys == {"openai": GOOD}


async def test_a_typed_key_that_a_file_of_the_environment_hides_is_told(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    (folder.parent / "key").write_text(BAD, encoding="utf-8")
    write_env(folder, f"TELEGRAM_BOT_TOKEN={tg.token}\n")
    environ |= {"OPENAI_API_KEY_FILE": str(folder.parent / "key"), "OPENAI_BASE_URL": ms.openai_base}
    answers = (("What next?", "models"), ("Which model", "openai"), ("OpenAI key", GOOD), ("What next?", "done"))
    talk = await dialogue(environ, *answers)
    assert "OPENAI_API_KEY_FILE: the environment of this shell has other values" in talk.text
    assert f"OPENAI_API_KEY={GOOD}\n" in env_text(folder)


async def test_an_address_is_checked_with_the_saved_key(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    write_env(folder, f"TELEGRAM_BOT_TOKEN={tg.token}\nOPENAI_API_KEY={GOOD}\nGROQ_API_KEY={GOOD}\n")
    config = folder / "preferences" / "runtime-config.json"
    dead = dict.fromkeys(("openai", "groq"), "http://127.0.0.1:9/v1")
    answers = (("What next?", "new"), ("What next?", "again"), ("What next?", "new"), ("What next?", "done"))
    talk = await dialogue(environ, *answers, bases=dead)
    assert "✗ openai/gpt-5.1 does not answer: Connection error." in talk.shown
    assert talk.shown.count("✗ groq can't be reached (ConnectError).") == 2
    assert not config.exists()
    alive = dict.fromkeys(("openai", "groq", "mistral"), ms.openai_base)
    talk = await dialogue(environ, ("What next?", "done"), bases=alive)
    assert "✓ OpenAI: openai/gpt-5.1 answers." in talk.shown
    assert "no tier uses one." in talk.text
    assert "there is no key." in talk.text
    assert config.read_text("utf-8").count(ms.openai_base) == 3


async def test_the_address_stays_if_only_the_key_is_refused(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    environ["OPENAI_API_KEY"] = BAD
    ms.bad_keys.add(BAD)
    answers = (("Telegram token", tg.token), NO_DISCORD, ("Which model", "openai"), ("OpenAI key", GOOD))
    talk = await dialogue(environ, *answers, bases={"openai": ms.openai_base})
    assert "OPENAI_API_KEY is not saved." in talk.shown
    assert [call.key for call in ms.calls] == [BAD, GOOD]
    assert "OPENAI_API_KEY: the environment of this shell has other values" in talk.text
    assert load({"WORKSPACE": str(folder)}).keys == {"openai": GOOD}


async def test_an_ollama_host_that_does_not_answer_is_not_saved(
    environ: dict[str, str], folder: Path, tg: TelegramServer
) -> None:
    talk = await dialogue(environ, ("Telegram token", tg.token), NO_DISCORD, ("Which model", "nothing"))
    assert "OLLAMA_HOST is not saved: no Ollama with a model that can chat answers at http://127.0.0.1:9." in talk.shown
    assert "OLLAMA_HOST" not in env_text(folder)


async def test_a_model_that_is_set_stays_if_nothing_is_chosen(
    environ: dict[str, str], folder: Path, tg: TelegramServer, ms: ModelServer
) -> None:
    ms.ollama = {"qwen2.5:3b": OllamaModel()}
    write_env(folder, f"TELEGRAM_BOT_TOKEN={tg.token}\nOPENAI_API_KEY={GOOD}\n")
    environ["OLLAMA_HOST"] = ms.vendor("ollama")
    answers = (("What next?", "models"), ("Which model", "nothing"), ("What next?", "done"))
    talk = await dialogue(environ, *answers)
    assert talk.choices["Which model should answer?"]["nothing"] == "Keep openai/gpt-5.1"
