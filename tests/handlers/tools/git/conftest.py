"""A git server that asks for a login."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.handlers.tools.git.logins import TOKEN, USER
from tests.servers.git import GitServer, bare_repository, git_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    (tmp_path / "srv").mkdir()
    bare_repository(tmp_path / "srv")
    async with git_server(tmp_path / "srv", (USER, TOKEN)) as running:
        yield running
