"""A model server whose requests must all be valid, our door to it, and no pause before a second try."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from routing import caller
from routing.llm import LiteLlm
from tests.library import opened
from tests.servers.model import ModelServer


@pytest.fixture
async def ms() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server
        assert [problem for call in server.calls for problem in call.violations] == []


@pytest.fixture
async def llm(tmp_path: Path) -> AsyncIterator[LiteLlm]:
    async with opened(tmp_path) as made:
        yield made


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause before a second try is a matter of manners, not of these tests."""
    monkeypatch.setattr(caller, "SECOND_TRY_SECONDS", (0.0, 0.0))
