"""Fixtures for all stories."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handlers.tools import basics, code, conversation, council, meta
from handlers.tools.files import tools as files
from handlers.tools.sandbox import Sandbox
from routing.errors import Reason
from tests.litellm_setup import litellm_without_clients
from tests.query_plans import no_growing_table_is_scanned, query_plans
from tests.servers.discord import DiscordServer
from tests.stories.harness import OWNER, BotHarness, bot_harness

__all__ = ["no_growing_table_is_scanned", "query_plans"]


@pytest.fixture(scope="session", autouse=True)
def library() -> None:
    """Loads LiteLLM before the first story: on a busy machine that takes longer than a story waits for a reply."""
    litellm_without_clients()


_probe = Sandbox._probe
_working: list[Sandbox] = []
"""The first one that works here."""


async def _probe_once(sandbox: Sandbox) -> Reason | None:
    if not _working:
        if off := await _probe(sandbox):
            return off
        _working.append(sandbox)
    sandbox.isolation, sandbox._process_tree = _working[0].isolation, _working[0]._process_tree
    return None


@pytest.fixture(autouse=True)
def probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes the sandbox once per worker; a probe takes 0.2 s."""
    monkeypatch.setattr(Sandbox, "_probe", _probe_once)


@pytest.fixture
def tmp_path(in_memory: Path) -> Path:
    """Keeps workspaces in memory."""
    return in_memory


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    """The loopback servers with an empty workspace."""
    async with bot_harness(tmp_path / "workspace") as made:
        yield made


@pytest.fixture
def first_toolkits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first built-in toolkits, so that no other has the subjects of tests.stories.toolkits."""
    monkeypatch.setattr("handlers.tools.TOOLKITS", (basics, files, code, conversation, council, meta))


@pytest.fixture
def own_clients() -> None:
    """LiteLLM without cached clients, which may belong to an earlier test's event loop."""
    litellm_without_clients()


@pytest.fixture
def open_access(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"


@pytest.fixture
async def dc(on: BotHarness) -> AsyncIterator[DiscordServer]:
    """Discord beside Telegram: a server with one channel. Alice owns the bot on both."""
    async with DiscordServer() as made:
        made.guild()
        on.env |= {
            "DISCORD_BOT_TOKEN": made.token,
            "DISCORD_API_ROOT": made.root,
            "DISCORD_GATEWAY_URL": made.gateway,
            "BOT_OWNERS": f"telegram:{OWNER},discord:{OWNER}",
        }
        yield made
        assert made.violations == []
        sent = [message for channel in made.channels.values() for message in channel.from_bot()]
        assert not [each for each in sent if each.pings.users or each.pings.roles or each.pings.everyone]
