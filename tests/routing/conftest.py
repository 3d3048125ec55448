"""A model server that requires valid requests, our adapter to it, no pause before retries, and selectors."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from routing.policy import failover
from routing.types.toolkits import Toolkit
from tests.litellm_setup import llm
from tests.routing.tools.fakes import Made, Selecting
from tests.servers.fixtures import ms_of_valid_requests

__all__ = ["llm", "ms_of_valid_requests"]


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause before a retry would only slow these tests down."""
    monkeypatch.setattr(failover, "PAUSE_SECONDS", (0.0, 0.0))


@pytest.fixture
async def made(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Made]:
    """Selectors that retry at once and are closed at the end."""
    monkeypatch.setattr("routing.tools.index_builder.RETRY_SECONDS", 0.0)
    monkeypatch.setattr("routing.tools.index_builder.PAUSE_SECONDS", 0.0)
    every: list[Selecting] = []

    def make(*toolkits: Toolkit, **parts: Any) -> Selecting:
        every.append(Selecting(*toolkits, **parts))
        return every[-1]

    yield make
    for each in every:
        await each.selector.close()
