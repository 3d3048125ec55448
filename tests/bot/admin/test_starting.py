"""The admin page while the bot starts."""

from __future__ import annotations

import re

from tests.bot.admin.conftest import Served


async def test_owners_can_sign_in_and_out_but_have_to_wait(served: Served) -> None:
    signed_in = await served.http.post("/sign-in", data={"token": served.services.token})
    assert signed_in.status_code == 303
    page = await served.http.get("/people")
    assert page.status_code == 503
    assert "The bot is starting" in page.text
    link = await served.http.post("/sign-in/link", data={"code": "x"})
    assert link.status_code == 403
    csrf = re.findall(r'name="csrf" value="([^"]+)"', page.text)[0]
    assert (await served.http.post("/sign-out", data={"csrf": "x"})).status_code == 403
    assert (await served.http.post("/sign-out", data={"csrf": csrf})).status_code == 303
    assert (await served.http.get("/people")).headers["location"] == "/sign-in?next=%2Fpeople"


async def test_static_files_are_kept_by_the_browser_and_pages_are_not(served: Served) -> None:
    page = await served.http.get("/sign-in")
    assert page.headers["cache-control"] == "no-store"
    found = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert len(found) >= 4
    for path in found:
        response = await served.http.get(path)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]
        assert response.headers["x-content-type-options"] == "nosniff"
