"""A listener on a free port, with a workspace and a database but no bot."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.admin.listener import Listener
from bot.admin.services import AdminServices
from bot.admin.token import admin_token
from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.messaging import Messaging
from storage.database.migrate import migrate
from tests.stories.harness import BotHarness, bot_harness


@dataclass(frozen=True, slots=True)
class Served:
    """`http` has the base address and no token."""

    listener: Listener
    services: AdminServices
    http: httpx.AsyncClient

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.services.token}"}


@pytest.fixture
async def served(in_memory: Path) -> AsyncIterator[Served]:
    async with serving(in_memory / "workspace") as made:
        yield made


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Served]:
    """A listener in the running event loop."""
    environment = load({"WORKSPACE": str(folder)})
    workspace = Workspace(environment)
    workspace.prepare()
    migrate(environment.settings.database, workspace.backups)
    async with Messaging(environment.settings.database, workspace.outgoing, time.time, time.monotonic) as messaging:
        services = AdminServices(environment, workspace, messaging, admin_token(workspace), "127.0.0.1", lambda: None)
        async with (
            Listener(0, services) as listener,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.port}", trust_env=False) as http,
        ):
            yield Served(listener, services, http)
    workspace.release()


@pytest.fixture
async def on(in_memory: Path) -> AsyncIterator[BotHarness]:
    """The loopback servers with an empty workspace."""
    async with bot_harness(in_memory / "workspace") as made:
        yield made
