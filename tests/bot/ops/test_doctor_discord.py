"""The doctor checks the token and the application's permissions at Discord."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.adapters.discord.doctor import Report, ask, findings
from bot.adapters.discord.settings import DiscordSettings
from bot.adapters.shared.doctor import PlatformSilent
from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.findings import Finding
from bot.ops.checks.inspection import Inspection
from bot.ops.checks.platforms import check_of
from bot.ops.doctor import examine
from bot.platforms import PLATFORMS
from tests.servers.discord import DiscordServer
from tests.servers.discord.sdk import pointed

DISCORD = next(platform for platform in PLATFORMS if platform.name == "discord")


@pytest.fixture
async def dc() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        with pointed(server):
            yield server
        assert server.violations == []
        assert server.sessions == []


async def examined(dc: DiscordServer, folder: Path, offset: float = 0.0, **environ: str) -> dict[str, Finding]:
    variables = {"DISCORD_BOT_TOKEN": dc.token, "DISCORD_API_ROOT": dc.root, "DISCORD_GATEWAY_URL": dc.gateway}
    environment = load({"WORKSPACE": str(folder)} | variables | environ)
    inspection = Inspection(environment, Workspace(environment), lambda: time.time() + offset, 2.0)
    return {finding.name: finding for finding in await examine(inspection, [check_of(DISCORD)])}


async def test_a_healthy_discord_passes(dc: DiscordServer, tmp_path: Path) -> None:
    dc.guild()
    found = await examined(dc, tmp_path)
    assert {name: finding.status for name, finding in found.items()} == {
        "discord": "ok", "messages": "ok", "gateway": "ok", "clock": "ok",
    }  # fmt: skip
    assert found["discord"].detail == "the token belongs to tierbot, which is in 1 server"
    assert found["gateway"].detail == "1000 more sessions can start today"


async def test_no_token_is_not_an_error(dc: DiscordServer, tmp_path: Path) -> None:
    assert [finding.status for finding in (await examined(dc, tmp_path, DISCORD_BOT_TOKEN="")).values()] == ["ok"]
    assert dc.requests == []


async def test_a_refused_or_malformed_token_fails(dc: DiscordServer, tmp_path: Path) -> None:
    dc.revoke()
    refused = (await examined(dc, tmp_path))["discord"]
    assert (refused.status, "Discord refuses DISCORD_BOT_TOKEN" in refused.detail) == ("fail", True)
    cut = (await examined(dc, tmp_path, DISCORD_BOT_TOKEN="abc"))["discord"]
    assert (cut.status, "does not look like a token" in cut.detail) == ("fail", True)


async def test_an_unreachable_or_slow_discord_fails(dc: DiscordServer, tmp_path: Path) -> None:
    async with dc.outage():
        away = (await examined(dc, tmp_path))["discord"]
    assert (away.status, "Connection refused" in away.detail, dc.token in away.detail) == ("fail", True, False)
    dc.fault("GET /users/@me", "refuse", status=403)
    assert "it answered 403" in (await examined(dc, tmp_path))["discord"].detail
    dc.fault("GET /users/@me", "hang", seconds=5.0)
    given = {"discord_bot_token": dc.token, "discord_api_root": dc.root, "discord_gateway_url": dc.gateway}
    with pytest.raises(PlatformSilent, match=r"^no answer within 0\.2 s$"):
        await ask(DiscordSettings.model_validate(given), 0.2)


async def test_the_message_content_intent_is_explained(dc: DiscordServer, tmp_path: Path) -> None:
    dc.grant()
    found = (await examined(dc, tmp_path))["messages"]
    assert found.status == "warn"
    assert "Message Content Intent" in found.fix


@pytest.mark.parametrize(("offset", "expected"), [(0, "ok"), (20, "ok"), (120, "warn"), (-120, "warn")])
async def test_the_clock_is_compared_with_discords(
    dc: DiscordServer, tmp_path: Path, offset: float, expected: str
) -> None:
    assert (await examined(dc, tmp_path, offset))["clock"].status == expected


async def test_sharding_is_recommended_if_discord_does(dc: DiscordServer, tmp_path: Path) -> None:
    dc.shards = 3
    assert "DISCORD_SHARDED" in (await examined(dc, tmp_path))["gateway"].fix
    assert (await examined(dc, tmp_path, DISCORD_SHARDED="true"))["gateway"].status == "ok"


def test_few_sessions_and_an_interactions_url_are_reported() -> None:
    report = Report("bot", 2, content=True, endpoint=True, shards=1, starts=49)
    found = {finding.name: finding for finding in findings(report, sharded=False, now=0.0)}
    assert {name: finding.status for name, finding in found.items()} == {
        "discord": "ok", "messages": "ok", "interactions": "fail", "gateway": "warn",
    }  # fmt: skip
    assert "only 49 more" in found["gateway"].detail
    assert "2 servers" in found["discord"].detail
