"""A stage for each story."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.library import litellm_without_clients
from tests.servers.discord import DiscordServer
from tests.stories.harness import OWNER, Stage, stage


@pytest.fixture(scope="session", autouse=True)
def library() -> None:
    """Loaded before the first story: on a busy machine that takes longer than a story waits for a reply."""
    litellm_without_clients()


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Stage]:
    """The loopback servers with an empty workspace."""
    async with stage(tmp_path / "workspace") as made:
        yield made


@pytest.fixture
async def dc(on: Stage) -> AsyncIterator[DiscordServer]:
    """Discord beside Telegram, with a server of one channel; Alice owns the bot on both."""
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
