"""A day in the life, whose transcript is the picture of the README."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.pictures import DOCS, drawn
from handlers.tools.sandbox import Sandbox, SandboxLimits
from tests.handlers.tools.sandbox.test_sandbox import missing
from tests.stories.day import morning, spend
from tests.stories.harness import BotHarness
from tests.stories.mailboxes import mail_servers

pytestmark = pytest.mark.system


@pytest.fixture
def tmp_path(on_disk: Path) -> Path:
    """The sandbox can't see the workspace in memory."""
    return on_disk


async def test_a_day_in_the_life(on: BotHarness, tmp_path: Path) -> None:
    if off := await Sandbox(tmp_path, SandboxLimits()).reason_off():
        missing(off)
    with mail_servers() as mailbox:
        async with morning(on, mailbox) as day:
            await spend(day)
            picture = drawn(day.transcript())
    assert picture == (DOCS / "day.svg").read_text(encoding="utf-8"), "run python -m benchmarks.pictures"
