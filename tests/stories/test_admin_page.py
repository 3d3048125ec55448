"""The admin page as an owner uses it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest

from tests.stories.admin_page import PAGES, AdminPage, admin_page, populate
from tests.stories.harness import BotHarness


@pytest.fixture
async def admin(on: BotHarness) -> AsyncIterator[AdminPage]:
    async with admin_page(on) as made:
        await made.sign_in()
        yield made


async def test_every_page_is_there_and_shows_no_message(admin: AdminPage) -> None:
    await populate(admin.app.messaging.stores, time.time())
    for path in PAGES:
        response = await admin.http.get(path)
        assert response.status_code == 200, (path, response.text)
        assert "<h1>" in response.text
        assert "private" not in response.text
