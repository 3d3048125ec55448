"""The doctor checks Telegram and the providers concurrently, with a timeout."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from aiohttp import web

from bot.observability.logs import Redactor
from bot.ops.checks.inspection import Inspection
from bot.ops.checks.platforms import check_of
from bot.ops.doctor import examine
from bot.platforms import PLATFORMS
from tests.bot.cli import always
from tests.bot.ops.doctor import POOLS, findings, inspected, status
from tests.servers.listener import listening
from tests.servers.telegram import TelegramServer
from tests.stories.harness import BotHarness


async def test_privacy_mode_is_explained(tmp_path: Path, on: BotHarness) -> None:
    assert "every message" in (await status(on, "groups"))[1]
    async with TelegramServer(privacy=True) as private:
        found = await status(on, "groups", TELEGRAM_BOT_TOKEN=private.token, TELEGRAM_API_ROOT=private.root)
    assert found[0] == "ok"
    assert "/setprivacy" in found[1]


async def test_a_refused_token_is_a_failure(on: BotHarness) -> None:
    on.tg.revoke()
    worst, detail = await status(on, "telegram")
    assert (worst, "@BotFather" in detail) == ("fail", True)


async def test_an_unreachable_telegram_fails(on: BotHarness) -> None:
    async with on.tg.outage():
        worst, detail = await status(on, "telegram")
    assert (worst, "ClientConnectorError" in detail) == ("fail", True)


async def test_a_webhook_left_over_is_named(on: BotHarness) -> None:
    async with always(200) as base:
        on.tg.updates.set_webhook({"url": f"{base}/hook"})
        worst, detail = await status(on, "updates")
        on.tg.updates.set_webhook({})
    assert (worst, "127.0.0.1" in detail) == ("warn", True)


async def test_pending_updates_suggest_a_second_poller(on: BotHarness) -> None:
    on.tg.say("hello")
    assert "1 are waiting at Telegram for the bot to start" in (await status(on, "updates"))[1]
    inspection = inspected(on)
    with inspection.workspace.held():
        worst, detail = await status(on, "updates")
    assert (worst, "409" in detail) == ("warn", True)


@pytest.mark.parametrize(("offset", "expected"), [(0, "ok"), (20, "ok"), (120, "warn"), (-120, "warn")])
async def test_the_clock_is_compared_with_telegrams(on: BotHarness, offset: float, expected: str) -> None:
    inspection = inspected(on)
    late = Inspection(inspection.environment, inspection.workspace, lambda: time.time() + offset)
    found = {finding.name: finding for finding in await check_of(PLATFORMS[0])(late)}
    assert found["clock"].status == expected


async def test_a_pool_member_without_a_key_and_an_unknown_model(on: BotHarness) -> None:
    pool = {"TIER_DEEP_POOL": "groq/strange-model, openai/gpt-5.1"}
    worst, detail = await status(on, "tier deep", **pool)
    assert worst == "warn"
    assert "openai/gpt-5.1 answers; no key for groq/strange-model" in Redactor(()).clean(detail)
    assert "GROQ_API_KEY" in detail
    assert "not in the catalogue: groq/strange-model" in detail


async def test_models_of_unknown_size_are_named_with_the_fix(on: BotHarness) -> None:
    assert await status(on, "model sizes") == ("ok", "known for every model of the tiers → ")
    pools = {"TIER_DEEP_POOL": "openai/gpt-5.1, groq/strange-model", "TIER_SMART_POOL": "groq/odd, groq/strange-model"}
    worst, detail = await status(on, "model sizes", **pools)
    assert worst == "warn"
    assert "treated as M: groq/odd, groq/strange-model → " in detail
    assert 'Set "sizeClass" to S, M, L or XL' in detail
    assert "models/models.json" in detail


async def test_ollama_is_asked_for_sizes_missing_from_names(on: BotHarness) -> None:
    on.config["llm"] = {"providers": {"ollama": {"baseUrl": on.ms.vendor("house")}}}
    on.ms.missing_models.add("gone")
    pools = {**POOLS, "TIER_DEEP_POOL": "ollama/odd, ollama/strange, openai/gpt-5.1"}
    assert (await status(on, "model sizes", **pools))[0] == "ok"
    worst, detail = await status(on, "model sizes", **pools | {"TIER_SMART_POOL": "ollama/gone, ollama/odd"})
    assert worst == "warn"
    assert "treated as M: ollama/gone → " in detail


async def test_a_configured_size_is_enough(on: BotHarness) -> None:
    catalogue = on.workspace / "models" / "models.json"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text('{"models": {"groq/odd": {"sizeClass": "L"}}}', encoding="utf-8")
    assert (await status(on, "model sizes", TIER_DEEP_POOL="groq/odd"))[0] == "ok"
    catalogue.write_text('{"models": {"groq/odd": {"sizeClass": "huge"}}}', encoding="utf-8")
    report = await findings(on, TIER_DEEP_POOL="groq/odd")
    assert [finding.status for finding in report if finding.name == "model sizes"] == []
    broken = next(finding for finding in report if finding.status == "fail" and "models.json" in finding.name)
    assert "models.groq/odd.sizeClass must be one of S, M, L, XL" in broken.detail


async def test_without_any_key_the_local_model_answers(on: BotHarness) -> None:
    worst, detail = await status(on, "tier smart", OPENAI_API_KEY="", **{name: "groq/x" for name in POOLS})
    assert (worst, "GROQ_API_KEY" in detail) == ("warn", True)


async def test_a_model_missing_from_its_provider(on: BotHarness) -> None:
    worst, detail = await status(on, "provider openai", TIER_DEEP_POOL="openai/gpt-5.9")
    assert (worst, "openai/gpt-5.9" in detail) == ("warn", True)


@pytest.mark.parametrize(("code", "expected"), [(401, "fail"), (503, "warn")])
async def test_a_provider_that_refuses_the_key(on: BotHarness, code: int, expected: str) -> None:
    async with always(code) as base:
        on.config = {"llm": {"providers": {"openai": {"baseUrl": base}}}}
        assert (await status(on, "provider openai"))[0] == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [("", "ok"), ("openai/whisper-1", "ok"), ("groq/whisper", "fail"), ("whisper", "fail"), ("local/x", "fail")],
)
async def test_the_transcription_model(on: BotHarness, model: str, expected: str) -> None:
    assert (await status(on, "voice", TRANSCRIPTION_MODEL=model))[0] == expected


@pytest.mark.parametrize(
    ("critic", "key", "expected"),
    [
        ({"enabled": True}, "k", ("ok", "anthropic/claude-haiku-4-5")),
        ({"enabled": True}, "", ("warn", "no model of another vendor can check the answers of openai/gpt-5.1")),
        ({"enabled": True, "model": "openai/gpt-5-mini"}, "k", ("warn", "no model of another vendor")),
    ],
)
async def test_the_critic_model_is_checked(on: BotHarness, critic: object, key: str, expected: tuple[str, str]) -> None:
    on.config["critic"] = critic
    pool = "openai/gpt-5.1,anthropic/claude-haiku-4-5"
    worst, detail = await status(on, "critic", ANTHROPIC_API_KEY=key, TIER_BALANCED_POOL=pool)
    assert worst == expected[0]
    assert expected[1] in detail


async def test_a_disabled_critic_is_not_reported(on: BotHarness) -> None:
    assert [each for each in await findings(on) if each.name == "critic"] == []


async def test_services_are_checked_concurrently(on: BotHarness) -> None:
    everyone = asyncio.Barrier(3)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith(("getMe", "models")):
            await everyone.wait()
        return web.json_response({"ok": True, "result": {"username": "b"}, "data": [{"id": "gpt-5.1"}]})

    async with listening(answer) as base:
        providers = {name: {"baseUrl": base, "apiKey": "k"} for name in ("openai", "mine")}
        on.config = {"llm": {"providers": providers}}
        report = await findings(on, TELEGRAM_API_ROOT=base)
    asked = [finding.status for finding in report if finding.name in ("telegram", "provider openai", "provider mine")]
    assert asked == ["ok", "ok", "ok"]


async def test_a_hanging_service_times_out(on: BotHarness) -> None:
    silence = asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        await silence.wait()
        return web.Response()

    async with listening(answer) as base:
        on.config = {"llm": {"providers": {"openai": {"baseUrl": base}}}}
        inspection = inspected(on, TELEGRAM_API_ROOT=base)
        brief = Inspection(inspection.environment, inspection.workspace, time.time, network_seconds=0.2)
        report = await examine(brief)
        silence.set()
    late = {finding.name: finding for finding in report if finding.name in ("telegram", "provider openai")}
    assert {finding.status for finding in late.values()} == {"fail"}
    assert all("0.2 s" in finding.detail for finding in late.values())
