"""An environment that points at the loopback servers, and an empty workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.litellm_setup import litellm_without_clients
from tests.servers.discord import DiscordServer
from tests.servers.fixtures import dc, ms_of_valid_requests, tg
from tests.servers.telegram import TelegramServer

__all__ = ["dc", "ms_of_valid_requests", "tg"]


@pytest.fixture(autouse=True)
def library() -> None:
    """LiteLLM without clients of an earlier test's event loop."""
    litellm_without_clients()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def environ(folder: Path, tg: TelegramServer, dc: DiscordServer) -> dict[str, str]:
    return {
        "WORKSPACE": str(folder),
        "TELEGRAM_API_ROOT": tg.root,
        "DISCORD_API_ROOT": dc.root,
        "DISCORD_GATEWAY_URL": dc.gateway,
        "OLLAMA_HOST": "127.0.0.1:9",
        "ADMIN_ADDRESS": "off",
    }
