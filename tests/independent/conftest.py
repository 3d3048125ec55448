"""Third-party model servers: one process of each for all tests, reset between them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.independent.aimock import Aimock, installed
from tests.independent.llmock import Llmock
from tests.litellm_setup import litellm_without_clients, llm
from tests.stories.harness import BotHarness, bot_harness

__all__ = ["llm"]

Party = Aimock | Llmock


@pytest.fixture(scope="session")
def aimock_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    program = Aimock(*installed(), tmp_path_factory.mktemp("aimock"))
    yield program
    program.end()


@pytest.fixture(scope="session")
def llmock_process() -> Iterator[Llmock]:
    program = Llmock()
    yield program
    program.end()


@pytest.fixture
async def aimock(aimock_process: Aimock) -> Aimock:
    await aimock_process.reset()
    return aimock_process


@pytest.fixture
async def judge(llmock_process: Llmock) -> Llmock:
    await llmock_process.reset()
    return llmock_process


@pytest.fixture(params=[pytest.param("aimock", marks=pytest.mark.system), "llmock"])
async def party(request: pytest.FixtureRequest) -> Party:
    """Each of the two stand-ins."""
    process: Party = request.getfixturevalue(f"{request.param}_process")
    await process.reset()
    return process


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[BotHarness]:
    """The environment of the whole bot; its models are elsewhere."""
    litellm_without_clients()
    async with bot_harness(tmp_path / "workspace") as made:
        yield made
        assert made.ms.calls == []
