"""The JSON endpoints for programs, against their own description."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.stories.admin_page import TOKEN, AdminPage, admin_page
from tests.stories.harness import BotHarness

BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def admin(on: BotHarness) -> AsyncIterator[AdminPage]:
    async with admin_page(on) as made:
        yield made


async def test_models_are_discovered_by_display_name(on: BotHarness, admin: AdminPage) -> None:
    on.ms.models["openai"] = ["zeta", "alpha"]
    response = await admin.http.get("/api/models/discover/openai", headers=BEARER)
    assert response.status_code == 200
    assert response.json() == {
        "provider": "openai",
        "models": [
            {"id": "openai/alpha", "displayName": "alpha"},
            {"id": "openai/zeta", "displayName": "zeta"},
        ],
    }
    assert not (on.workspace / "models" / "discovered.json").exists()


async def test_without_a_key_or_without_an_answer(on: BotHarness, admin: AdminPage) -> None:
    missing = await admin.http.get("/api/models/discover/anthropic", headers=BEARER)
    assert missing.status_code == 400
    assert "ANTHROPIC_API_KEY" in missing.json()["error"]
    await on.ms.go_down()
    down = await admin.http.get("/api/models/discover/openai", headers=BEARER)
    assert down.status_code == 502


async def test_the_token_is_needed(admin: AdminPage) -> None:
    for given in (None, "", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ü"):
        headers = {} if given is None else {b"Authorization": given.encode()}
        response = await admin.http.get("/api/models/discover/openai", headers=headers)
        assert response.status_code == 401, given
        assert response.headers["www-authenticate"] == "Bearer"
        assert "error" in response.json()


async def test_a_session_is_no_token(admin: AdminPage) -> None:
    await admin.sign_in()
    assert (await admin.http.get("/api/models/discover/openai")).status_code == 401
